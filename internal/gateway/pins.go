package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/record"
)

// Pins knows which definitions of tools were accepted. See [pins.File].
type Pins interface {
	// Check returns the tools of a server that nobody has accepted as they are now, by name, and the names of those that
	// count as accepted from now on.
	Check(ctx context.Context, server string, tools []json.RawMessage) (held map[string]pins.Held, pinned []string, err error)
}

// pin holds the tools of a server whose definitions nobody has accepted. An error means that no tool may be shown.
func (g *Gateway) pin(ctx context.Context, s *catalog.Source) error {
	if g.opts.Pins == nil {
		return nil
	}
	tools := upstream.Entries(s.Pages, catalog.Tools.Member)
	held, pinned, err := g.opts.Pins.Check(ctx, s.Server, tools)
	if err != nil {
		return fmt.Errorf("server %s: %w", s.Server, err)
	}
	for _, name := range pinned {
		e := record.New(record.Pin, time.Now())
		e.Server, e.Name = s.Server, name
		if err := g.opts.Record.Record(ctx, e); err != nil {
			return fmt.Errorf("recording a pin: %w", err)
		}
	}
	s.Held = make(map[string]catalog.Held, len(held))
	for name, h := range held {
		kept := catalog.Held{Why: h.String() + "; a person can look at it with weir pins diff, and accept it with weir pins accept"}
		if h.Accepted != nil {
			kept.Accepted = h.Accepted.Tool(name)
		}
		s.Held[name] = kept
	}
	return nil
}
