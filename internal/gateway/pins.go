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
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

// Pins knows which definitions were accepted, and who vouches for them. See [pins.File].
type Pins interface {
	// Check returns what hosts may be shown of an offer, and pins it.
	Check(ctx context.Context, o pins.Offer) (pins.Checked, error)

	// CheckHandshake returns the instructions of a server that were accepted, why those that it gives are held, "" if they are not, and
	// whether they are pinned from now on.
	CheckHandshake(ctx context.Context, server, instructions string, self pins.Definition) (accepted, why string, pinned bool, err error)

	// Unreviewed returns how many definitions that hosts may have been shown nobody has reviewed, by server.
	Unreviewed() (map[string]pins.Counts, error)
}

// reviewing returns the command by which a person reviews definitions; nil if nothing is pinned.
func (o *Options) reviewing() func(server string) string {
	switch {
	case o.Pins == nil:
		return nil
	case o.Review != nil:
		return o.Review
	}
	return func(server string) string { return "weir review " + server }
}

// howToAccept says how a person accepts the definitions of a server.
func (g *Gateway) howToAccept(server string) string {
	return "; a person can look at it and accept it with " + g.opts.reviewing()(server)
}

// tellUnreviewed tells once that nobody vouches for the definitions of a server.
func (g *Gateway) tellUnreviewed(server string, trust contract.Trust) {
	counts, err := g.opts.Pins.Unreviewed()
	n := counts[server].Unvouched(trust != contract.Untrusted)
	if err != nil || n == 0 {
		return
	}
	if _, told := g.roster.told.LoadOrStore(server, true); !told {
		g.log.Warn("nobody has reviewed definitions of a server, so conversations that see them are untrusted",
			"server", server, "definitions", n, "hint", g.opts.reviewing()(server))
	}
}

// shown returns the label of everything that the hosts of the set may have been shown outside of results. It does not depend on
// who listed what: definitions are pinned before any host sees them, and the pins outlive connections and processes.
func (set *links) shown() label.Label {
	var counts map[string]pins.Counts
	var err error
	if kept := set.g.opts.Pins; kept != nil {
		if counts, err = kept.Unreviewed(); err != nil {
			set.g.log.Error("reading pins", "error", err)
		}
	}
	l := set.heard.label()
	for _, server := range set.all() {
		trusted := server.trust() != contract.Untrusted
		unvouched := counts[server.server.Name].Unvouched(trusted) > 0
		if err != nil || unvouched || set.g.opts.Pins == nil && !trusted {
			l = label.Join(l, guard.Definitions(server.server.Name))
		}
	}
	return l
}

// instructions returns what a server may tell the model: what was accepted. It gets there before any call that could be decided.
func (l *link) instructions(ctx context.Context, said json.RawMessage) (string, error) {
	g, server := l.set.g, l.server.Name
	raw, _ := rawjson.Get(said, "instructions")
	text, _ := rawjson.String(raw)
	if g.opts.Pins == nil {
		return text, nil
	}
	accepted, why, pinned, err := g.opts.Pins.CheckHandshake(ctx, server, text, catalog.Self(said))
	if err != nil {
		return "", fmt.Errorf("server %s: %w", server, err)
	}
	g.roster.holdsBack(server, text, accepted, why)
	if why != "" {
		err = g.defect(ctx, server, "", "", annotation.Defect{Where: "instructions", Reason: why + g.howToAccept(server)})
	}
	if pinned && text != "" {
		err = g.pinned(ctx, server, "")
	}
	return accepted, err
}

// defect records and logs that a server broke its contract, a schema or the protocol.
func (g *Gateway) defect(ctx context.Context, server, method, name string, d annotation.Defect) error {
	e := record.New(record.Defect, time.Now())
	e.Server, e.Method, e.Name, e.Where, e.Message = server, method, name, d.Where, d.Reason
	g.log.Warn("defect", "server", server, "name", name, "where", d.Where, "reason", d.Reason)
	return g.opts.Record.Record(ctx, e)
}

// pinned records what is pinned from now on.
func (g *Gateway) pinned(ctx context.Context, server, name string) error {
	e := record.New(record.Pin, time.Now())
	e.Server, e.Name = server, name
	if err := g.opts.Record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording a pin: %w", err)
	}
	return nil
}

// pin holds the entries of a server's list whose definitions nobody has accepted. An error means that nothing of the list may
// be shown.
func (g *Gateway) pin(ctx context.Context, kind catalog.Kind, s *catalog.Source) error {
	if g.opts.Pins == nil {
		return nil
	}
	checked, err := g.opts.Pins.Check(ctx, s.Offer(kind))
	if err != nil {
		return fmt.Errorf("server %s: %w", s.Server, err)
	}
	for _, name := range checked.Pinned {
		if err := g.pinned(ctx, s.Server, name); err != nil {
			return err
		}
	}
	g.tellUnreviewed(s.Server, s.Trust)
	g.roster.holds(s.Server, kind.Pins, checked.Held)
	s.Held = make(map[string]catalog.Held, len(checked.Held)+len(checked.Kept))
	for name, d := range checked.Kept {
		s.Held[name] = catalog.Held{Accepted: d.Entry(kind.Pins, name)}
	}
	for name, h := range checked.Held {
		kept := catalog.Held{Why: h.String() + g.howToAccept(s.Server)}
		if h.Accepted != nil {
			kept.Accepted = h.Accepted.Entry(kind.Pins, name)
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

// Held returns the definitions that nobody has accepted, as their servers gave them last, by server, kind and name.
func (g *Gateway) Held() []pins.Held {
	g.roster.mu.Lock()
	defer g.roster.mu.Unlock()
	var all []pins.Held
	for _, server := range slices.Sorted(maps.Keys(g.roster.held)) {
		for _, kind := range pins.Kinds() {
			held := g.roster.held[server][kind]
			for _, name := range slices.Sorted(maps.Keys(held)) {
				all = append(all, held[name])
			}
		}
	}
	return all
}

// holds notes which definitions of a server are held.
func (r *roster) holds(server string, kind pins.Kind, held map[string]pins.Held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[server] == nil {
		r.held[server] = map[pins.Kind]map[string]pins.Held{}
	}
	r.held[server][kind] = maps.Clone(held)
}

// holdsBack notes why the instructions of a server are held; "" if they are not.
func (r *roster) holdsBack(server, offered, accepted, why string) {
	if why == "" {
		r.holds(server, pins.Handshake, nil)
		return
	}
	was := pins.Instructions(accepted)
	h := pins.Held{Server: server, ID: pins.ID{Kind: pins.Handshake, Name: pins.Preamble}, Accepted: &was, Offered: pins.Instructions(offered)}
	if accepted == "" {
		h.Accepted = nil
	}
	r.holds(server, pins.Handshake, map[string]pins.Held{pins.Preamble: h})
}

// place returns the place of a server in the configuration.
func (r *roster) place(server string) int {
	return slices.IndexFunc(r.configured(), func(s Server) bool { return s.Name == server })
}
