package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/record"
)

// Pins knows which definitions of tools were accepted. See [pins.File].
type Pins interface {
	// Check returns the tools of a server that nobody has accepted as they are now, by name, and the names of those that
	// count as accepted from now on.
	Check(ctx context.Context, server string, tools []json.RawMessage) (held map[string]pins.Held, pinned []string, err error)

	// CheckInstructions returns the instructions of a server that were accepted, why those that it gives are held, "" if they are not, and
	// whether they count as accepted from now on.
	CheckInstructions(ctx context.Context, server, text string) (accepted, why string, pinned bool, err error)
}

// howToAccept is what a person can do about what is held.
const howToAccept = "; a person can look at it with weir pins diff, and accept it with weir pins accept"

// instructions returns what a server may tell the model: what was accepted. It gets there before any call that could be decided.
func (l *link) instructions(ctx context.Context, said json.RawMessage) (string, error) {
	g, server := l.set.g, l.server.Name
	raw, _ := rawjson.Get(said, "instructions")
	text, _ := rawjson.String(raw)
	if g.opts.Pins == nil {
		return text, nil
	}
	accepted, why, pinned, err := g.opts.Pins.CheckInstructions(ctx, server, text)
	if err != nil {
		return "", fmt.Errorf("server %s: %w", server, err)
	}
	g.roster.holdsBack(server, text, accepted, why)
	if why != "" {
		err = g.defect(ctx, server, "", "", annotation.Defect{Where: "instructions", Reason: why + howToAccept})
	}
	if pinned && text != "" {
		err = g.pinned(ctx, server, pins.Preamble)
	}
	return accepted, err
}

// pinned records what counts as accepted from now on.
func (g *Gateway) pinned(ctx context.Context, server, name string) error {
	e := record.New(record.Pin, time.Now())
	e.Server, e.Name = server, name
	if err := g.opts.Record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording a pin: %w", err)
	}
	return nil
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
		if err := g.pinned(ctx, s.Server, name); err != nil {
			return err
		}
	}
	g.roster.holds(s.Server, held)
	s.Held = make(map[string]catalog.Held, len(held))
	for name, h := range held {
		kept := catalog.Held{Why: h.String() + howToAccept}
		if h.Accepted != nil {
			kept.Accepted = h.Accepted.Tool(name)
		}
		s.Held[name] = kept
	}
	return nil
}

// Tools returns the tools that hosts were shown last, with what counts of them, in the order of the servers. Nothing is asked of a
// server: as long as no connected host has looked at the tools there are none. Of what several hosts were shown, one counts.
func (g *Gateway) Tools() []catalog.Entry {
	g.roster.mu.Lock()
	sets := slices.Collect(maps.Keys(g.roster.sets))
	g.roster.mu.Unlock()
	var all []catalog.Entry
	seen := map[[2]string]bool{}
	for _, set := range sets {
		l := set.cached(catalog.Tools)
		if l == nil {
			continue
		}
		for e := range l.All() {
			if at := [2]string{e.Server, e.Name}; !seen[at] {
				seen[at] = true
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b catalog.Entry) int { return cmp.Compare(g.roster.place(a.Server), g.roster.place(b.Server)) })
	return all
}

// Held returns the tools and instructions that nobody has accepted, as their servers gave them last, by server and name.
func (g *Gateway) Held() []pins.Held {
	g.roster.mu.Lock()
	defer g.roster.mu.Unlock()
	var all []pins.Held
	for _, server := range slices.Sorted(maps.Keys(g.roster.held)) {
		for _, name := range slices.Sorted(maps.Keys(g.roster.held[server])) {
			all = append(all, g.roster.held[server][name])
		}
	}
	return all
}

// holds notes which tools of a server are held.
func (r *roster) holds(server string, held map[string]pins.Held) {
	all := map[string]pins.Held{}
	maps.Copy(all, held)
	r.mu.Lock()
	defer r.mu.Unlock()
	if h, ok := r.held[server][pins.Preamble]; ok {
		all[pins.Preamble] = h
	}
	r.held[server] = all
}

// holdsBack notes why the instructions of a server are held; "" if they are not.
func (r *roster) holdsBack(server, offered, accepted, why string) {
	was := pins.Instructions(accepted)
	h := pins.Held{Server: server, Tool: pins.Preamble, Accepted: &was, Offered: pins.Instructions(offered)}
	if accepted == "" {
		h.Accepted = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if why == "" {
		delete(r.held[server], pins.Preamble)
		return
	}
	if r.held[server] == nil {
		r.held[server] = map[string]pins.Held{}
	}
	r.held[server][pins.Preamble] = h
}

// place returns the place of a server in the configuration.
func (r *roster) place(server string) int {
	return slices.IndexFunc(r.configured(), func(s Server) bool { return s.Name == server })
}
