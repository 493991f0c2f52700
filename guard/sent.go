package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
)

// errUnsent says that a call does not go out.
var errUnsent = errors.New("values in the arguments are redacted for this destination, and that could not be done")

// sends returns the classes and rules of findings that are redacted in the arguments of a call: those of which one of
// the destinations is possible by the contract of the call. Calls of the host's own tools go out without the guard.
func sends(g *decider, r *request) (redacted map[string]bool) {
	d := &g.contents.Detection
	if len(d.Sent) == 0 || d.Detector == nil || r.asked || r.Host || r.Server == Own || g.rules.Load().mode != policy.Enforce {
		return nil
	}
	to, known := r.Effective.Destinations.Known()
	for name, destinations := range d.Sent {
		if !known || slices.ContainsFunc(destinations, to.Has) {
			if redacted == nil {
				redacted = map[string]bool{}
			}
			redacted[name] = true
		}
	}
	return redacted
}

// redactSent finds the params of a call to send: with placeholders in its arguments.
func redactSent(g *decider, r *request) error {
	redacts, args, d := sends(g, r), r.Arguments, &g.contents.Detection
	if len(redacts) == 0 || r.Method == "resources/read" || len(args) == 0 {
		return nil
	}
	for range mostRounds {
		by := d.scan(args, salt{}, detect.Named{})
		if by.failed != "" {
			return errUnsent
		}
		found := slices.DeleteFunc(slices.Clone(by.report.Findings), func(f detect.Finding) bool {
			return f.Confidence == detect.Low || !redacts[string(f.Kind)] && !redacts[string(f.Class)]
		})
		if len(found) == 0 {
			return setSent(r, args)
		}
		copies, ok := detect.Copies(args, detect.JSON, found)
		if !ok {
			return errUnsent
		}
		args = detect.Redacted(args, detect.JSON, append(found, copies...))
	}
	return errUnsent
}

// setSent has a request go out with these arguments.
func setSent(r *request, args json.RawMessage) (err error) {
	if bytes.Equal(args, r.Arguments) {
		return nil
	}
	if rawjson.Check(args) != nil { // two names became one
		return errUnsent
	}
	r.redacted, err = rawjson.Set(r.Params, args, "arguments")
	return err
}

// searchSent has policy decide on the findings in the params that go out.
func searchSent(ctx context.Context, d *Detection, r *request, search *detected) {
	sent := d.search(ctx, r, policy.OnCall, canonicalArguments(r.redacted, r.Further))
	search.facts, search.harmless = sent.facts, sent.harmless
	if search.event != nil {
		search.event.Changed = true
	}
}
