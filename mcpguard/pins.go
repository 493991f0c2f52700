package mcpguard

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/record"
)

// Pins are the definitions of servers as they were first seen or accepted, by the names of the servers: tools,
// prompts, resources, resource templates and instructions. They are in one file, in the form of the gateway's
// weir.lock: several programs and weir may share it, and people may review it in version control.
type Pins struct{ file *pins.File }

// PinOptions configures Pins.
type PinOptions struct {
	// ReviewAll holds tools, prompts and instructions that were never seen before until a person accepts them.
	// Otherwise they are pinned as they are, and those of an untrusted server make agent sessions untrusted.
	ReviewAll bool
}

// OpenPins returns the pins in the file at path, which need not exist. A file that cannot be read or has mistakes is an
// error.
func OpenPins(path string, opts PinOptions) (*Pins, error) {
	o := pins.Options{}
	if opts.ReviewAll {
		o.Mode = pins.Review
	}
	file, err := pins.Open(path, o)
	if err != nil {
		return nil, err
	}
	return &Pins{file}, nil
}

// Unvouched returns the definitions of a server that hosts are shown although nobody vouches for them, of all kinds.
// They make agent sessions untrusted until a person accepts them.
func (p *Pins) Unvouched(s Server) ([]*Change, error) {
	lock, err := p.file.Lock()
	if err != nil {
		return nil, err
	}
	var all []*Change
	for _, h := range lock.Unvouched(s.Name, s.Trust != contract.Untrusted) {
		h.Accepted = nil
		all = append(all, changeOf(h))
	}
	return all, nil
}

// Accept notes that a person has accepted the definitions as they are offered. Calls and lists that follow use them.
func (p *Pins) Accept(ctx context.Context, changes ...*Change) error {
	all := make([]pins.Held, len(changes))
	for i, c := range changes {
		all[i] = c.held
	}
	return p.file.Accept(ctx, all)
}

// A Change is a definition that a server offers and that is not the one that was accepted. An order to the model, or
// another effect of a tool, may hide in the difference.
type Change struct {
	Server      string
	Kind        string       // "tools", "prompts", "resources", "resourceTemplates", or "handshake"
	Name        string       // in its list, "" for members beside that; of a handshake "instructions", or "server" for the rest
	New         bool         // no definition of it was accepted before
	Differences []Difference // from the accepted definition

	held pins.Held
}

// A Difference is how one member of a definition changed. Before and After are the server's own text, which may be
// hostile: quote it. "" is none.
type Difference struct{ Member, Before, After string }

func changeOf(h pins.Held) *Change {
	c := &Change{Server: h.Server, Kind: string(h.Kind), Name: h.Name, New: h.Accepted == nil, held: h}
	for _, d := range h.Differences() {
		c.Differences = append(c.Differences, Difference{d.Member, d.Before, d.After})
	}
	return c
}

// String returns the change in one line, without the texts of the definition.
func (c *Change) String() string {
	return fmt.Sprintf("server %q, %s, %q: %s", c.Server, c.Kind, c.Name, c.held)
}

// howToAccept follows the reason why a definition is held.
const howToAccept = "; a person has to accept it"

// maxDeclined bounds the changes that are known as not accepted. Beyond, people are asked again.
const maxDeclined = 1000

// Reviews hold the definitions of servers against pins.
type reviews struct {
	pins   *Pins // nil: nothing is pinned
	ask    func(ctx context.Context, c *Change) (bool, error)
	record func(ctx context.Context, e *record.Event) error

	asking   chan struct{} // holds a token while a person is asked
	declined map[[sha256.Size]byte]bool
}

func newReviews(opts Options) *reviews {
	return &reviews{
		pins: opts.Pins, ask: opts.Review, record: opts.State.Record,
		asking: make(chan struct{}, 1), declined: map[[sha256.Size]byte]bool{},
	}
}

// vouched tells of servers whether anybody vouches for their definitions, as the pins are now. If that cannot be known,
// nobody does.
func (v *reviews) vouched() func(server string, trust contract.Trust) bool {
	var counts map[string]pins.Counts
	var err error
	if v.pins != nil {
		counts, err = v.pins.file.Unreviewed()
	}
	return func(server string, trust contract.Trust) bool {
		return err == nil && !catalog.Unvouched(counts, server, trust)
	}
}

// hold holds a list against its pins. A person is asked about definitions that differ. An error means that nothing of
// the list may be shown.
func (v *reviews) hold(ctx context.Context, kind catalog.Kind, s *catalog.Source) error {
	if v.pins == nil {
		return nil
	}
	offer := s.Offer(kind)
	checked, err := v.pins.file.Check(ctx, offer)
	pinned := checked.Pinned
	if err == nil && v.accepts(ctx, checked.Held) {
		checked, err = v.pins.file.Check(ctx, offer)
	}
	for _, name := range pinned {
		if err == nil {
			err = v.pinned(ctx, s.Server, name)
		}
	}
	if err != nil {
		return fmt.Errorf("server %s: %w", s.Server, err)
	}
	s.Hold(kind, checked, howToAccept)
	return nil
}

// welcome returns the welcome of a server with the instructions that were accepted.
func (v *reviews) welcome(ctx context.Context, server string, said json.RawMessage) (json.RawMessage, error) {
	if v.pins == nil {
		return said, nil
	}
	if err := annotation.Check(said); err != nil {
		return nil, fmt.Errorf("server %s: %w", server, err)
	}
	raw, _ := rawjson.Get(said, "instructions")
	text, _ := rawjson.String(raw)
	accepted, why, pinned, err := v.pins.file.CheckHandshake(ctx, server, text, catalog.Self(said))
	if err == nil && why != "" {
		if v.accepts(ctx, map[string]pins.Held{pins.Preamble: pins.HeldInstructions(server, accepted, text)}) {
			accepted, _, _, err = v.pins.file.CheckHandshake(ctx, server, text, catalog.Self(said))
		}
	}
	if err == nil && pinned && text != "" {
		err = v.pinned(ctx, server, "")
	}
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", server, err)
	}
	said, instructions := catalog.Accepting(said, accepted)
	if instructions == nil {
		return said, nil
	}
	return rawjson.Set(said, instructions, "instructions")
}

// pinned records that a definition was pinned.
func (v *reviews) pinned(ctx context.Context, server, name string) error {
	e := record.New(record.Pin, time.Now())
	e.Server, e.Name = server, name
	if err := v.record(ctx, e); err != nil {
		return fmt.Errorf("recording a pin: %w", err)
	}
	return nil
}

// accepts asks a person about definitions that are held, about each form of one once, and reports whether any was
// accepted. One about which asking fails stays held.
func (v *reviews) accepts(ctx context.Context, held map[string]pins.Held) (some bool) {
	if v.ask == nil || len(held) == 0 {
		return false
	}
	select {
	case v.asking <- struct{}{}:
		defer func() { <-v.asking }()
	case <-ctx.Done():
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(held)) {
		form, err := json.Marshal(held[name])
		digest := sha256.Sum256(form)
		if err != nil || v.declined[digest] {
			continue
		}
		change := changeOf(held[name])
		accepted, err := v.ask(ctx, change)
		switch {
		case err != nil:
		case !accepted:
			if len(v.declined) >= maxDeclined {
				clear(v.declined)
			}
			v.declined[digest] = true
		case v.pins.Accept(ctx, change) == nil:
			some = true
		}
	}
	return some
}
