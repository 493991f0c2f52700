package catalog

import (
	"encoding/json"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Hold has hosts see the entries of a source as they were accepted, and calls traced by the parts of arguments that a
// person has confirmed of these. How says to people how one that is held is accepted.
func (s *Source) Hold(kind Kind, checked pins.Checked, how string) {
	s.Held = make(map[string]Held, len(checked.Held)+len(checked.Kept))
	for name, d := range checked.Kept {
		s.Held[name] = Held{Accepted: d.Entry(kind.Pins, name)}
	}
	for name, h := range checked.Held {
		kept := Held{Why: h.String() + how}
		if h.Accepted != nil {
			kept.Accepted = h.Accepted.Entry(kind.Pins, name)
		}
		s.Held[name] = kept
	}
	s.Confirmed = make(map[string]trace.Confirmed, len(checked.Confirmed))
	for name, a := range checked.Confirmed {
		s.Confirmed[name] = trace.Confirmed{Destinations: a.Destination, Contents: a.Content}
	}
}

// Unvouched reports whether hosts may have been shown definitions of a server for which nobody vouches. Nil counts are
// those of no pins.
func Unvouched(counts map[string]pins.Counts, server string, trust contract.Trust) bool {
	if counts == nil {
		return trust == contract.Untrusted
	}
	return counts[server].Unvouched(trust != contract.Untrusted) > 0
}

// Accepting returns a server's welcome with the instructions that were accepted, and these: as they are, if they are
// the server's.
func Accepting(said json.RawMessage, accepted string) (welcome, instructions json.RawMessage) {
	raw, _ := rawjson.Get(said, "instructions")
	switch text, ok := rawjson.String(raw); {
	case ok && text == accepted:
		return said, raw
	case accepted == "":
		return rawjson.Delete(said, "instructions"), nil
	}
	return said, rawjson.Quote(accepted)
}
