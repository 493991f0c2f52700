package evaluate

import (
	"context"

	"github.com/weir-mcp/weir/internal/draft"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/pins"
)

// draftedPins are the pins of a person who has confirmed the drafted parts of the arguments of each tool, and nothing
// else: who vouches for a server's definitions is as without pins.
type draftedPins struct{ servers []gateway.Server }

// Check implements [gateway.Options.Pins].
func (p *draftedPins) Check(_ context.Context, o pins.Offer) (pins.Checked, error) {
	c := pins.Checked{Confirmed: map[string]pins.Arguments{}}
	for name, d := range o.Entries {
		if o.Kind != pins.Tools || name == pins.Beside {
			continue
		}
		var a pins.Arguments
		parts := draft.PartsOf(d.Entry(o.Kind, name))
		if parts.Partial {
			continue
		}
		for _, r := range parts.Destinations {
			a.Destination = append(a.Destination, r.Argument)
		}
		for _, r := range parts.Contents {
			a.Content = append(a.Content, r.Argument)
		}
		c.Confirmed[name] = a
	}
	return c, nil
}

// CheckHandshake implements [gateway.Options.Pins].
func (p *draftedPins) CheckHandshake(_ context.Context, _, instructions string, _ pins.Definition) (string, string, bool, error) {
	return instructions, "", false, nil
}

// Unreviewed implements [gateway.Options.Pins].
func (p *draftedPins) Unreviewed() (map[string]pins.Counts, error) {
	counts := map[string]pins.Counts{}
	for _, s := range p.servers {
		counts[s.Name] = pins.Counts{First: 1}
	}
	return counts, nil
}
