package guard

import (
	"context"
	"fmt"
	"sync"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// A Breach is a breach of contract by the server of a call: an answer or a resolution outside of the declaration of its
// tool, or an answer without the annotations that all before it had.
type Breach struct {
	annotation.Defect
	Occasion string // such as an agent session: breaches of one tool on one occasion are one
	Data     bool   // whether it is about data, and not about the effects of the tool

	// Changes are the digests of definitions that the server has changed, each of which counts once. A release changes
	// many: those that are found on one day are one breach, whatever the occasion.
	Changes []string
}

// Bounds of the memory of annotations.
const (
	manyAnnotated = 8    // answers of a tool in a row with annotations, after which one without them is a defect
	maxAnnotated  = 4096 // tools
	varies        = -1   // the tool annotates some answers, and others not
)

// A declaration has limits, for an answer and for a resolution.
type limits struct {
	where, reason string
	exceeded      func(declared, said contract.Contract) (members []string)
}

var (
	ofResults     = limits{"_meta.annotations.", "the result is outside of what the tool declares", contract.Contract.Bounds}
	ofResolutions = limits{"tools/resolve annotations.", "the resolution is outside of what the tool declares", contract.Contract.Narrows}
)

// of returns a defect for each member of a statement about a call that is outside of the tool's declaration.
func (l *limits) of(c *Call, said contract.Contract) (all []annotation.Defect) {
	for _, member := range l.exceeded(c.Declared, said) {
		all = append(all, annotation.Defect{Where: l.where + member, Reason: l.reason})
	}
	return all
}

// breaches tells of breaches of contract.
type breaches struct {
	told func(ctx context.Context, c *Call, b Breach) error // nil: nobody is told

	mu sync.Mutex
	by *bounded.Map[string, int] // answers with annotations of each tool, in this process
}

func newBreaches(told func(ctx context.Context, c *Call, b Breach) error) *breaches {
	return &breaches{told: told, by: bounded.NewMap[string, int](maxAnnotated)}
}

// outside tells of the first of the defects that an answer or a resolution outside of the tool's declaration has.
func (b *breaches) outside(ctx context.Context, c *Call, all []annotation.Defect, data bool) error {
	if b.told == nil || len(all) == 0 {
		return nil
	}
	occasion := fmt.Sprintf("session %s %t", bind(c.Session.Principal, c.Session.Key), data)
	if err := b.told(ctx, c, Breach{Defect: all[0], Occasion: occasion, Data: data}); err != nil {
		return fmt.Errorf("counting a breach of contract: %w", err)
	}
	return nil
}

// outsidersWrite reports whether outsiders may have a part in answers to a call: by the operator's word on its tool,
// else by the server's own.
func outsidersWrite(c *Call) bool {
	return c.Overlay.Effective(c.Declared, contract.Trusted).Label().Untrusted
}

// answersFor returns the part of a server's statement about a call by which it can break its contract. To report
// malicious content costs nothing, and whoever calls chooses how sensitive the inputs are. Words about data that
// outsiders may have written cost nothing either: they would choose which servers lose trust.
func answersFor(c *Call, stated contract.Contract) contract.Contract {
	none := contract.Contract{}
	stated.Malicious, stated.Accepts = none.Malicious, none.Accepts
	if outsidersWrite(c) {
		stated.Sources, stated.Returns, stated.Output = none.Sources, none.Returns, none.Output
	}
	return stated
}

// bare returns the defect of an answer without the annotations that all answers of its tool before it had; nil if it is
// none.
func (b *breaches) bare(in *result) *annotation.Defect {
	r := in.request
	if r.asked || in.answer.Error != nil || r.Method != "tools/call" {
		return nil
	}
	annotated := !in.claim.Label.IsZero() || !in.claim.Stated.Equal(contract.Contract{})
	key := bind(r.Server, r.Reached, r.Name)
	b.mu.Lock()
	n, _ := b.by.Get(key)
	b.mu.Unlock()
	if n == varies || isToolError(in.outline) || !isFinal(in.answer.Result) { // the last takes a scan of the result
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n, _ = b.by.Get(key)
	switch {
	case n == varies:
	case annotated:
		b.by.Set(key, min(n+1, manyAnnotated))
	default:
		b.by.Set(key, varies)
		if n == manyAnnotated {
			return &annotation.Defect{Where: "_meta.annotations", Reason: "the result has none, and all results of the tool before it had some"}
		}
	}
	return nil
}

// isFinal reports whether a result is the outcome of a call: no question, and no task that goes on.
func isFinal(result []byte) bool {
	if kind, _ := rawjson.Get(result, "resultType"); string(kind) == `"input_required"` {
		return false
	}
	task, _ := rawjson.Get(result, "task")
	return rawjson.Kind(task) != '{'
}

// lacking records that an answer lacks the annotations that all answers of its tool before it had, and tells of it,
// unless outsiders may have had a part in that. It counts once for the tool.
func (b *breaches) lacking(ctx context.Context, v *evidence, in *result) error {
	c := &in.request.Call
	d := b.bare(in)
	if d == nil {
		return nil
	}
	if err := v.defect(ctx, c, *d); err != nil || outsidersWrite(c) {
		return err
	}
	return b.told(ctx, c, Breach{Defect: *d, Occasion: "annotations of results", Data: true})
}
