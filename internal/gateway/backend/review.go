package backend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/record"
)

// Pins knows which definitions were accepted, and who vouches for them. See [pins.File].
type Pins interface {
	// Check returns the part of an offer that hosts may be shown, and pins it.
	Check(ctx context.Context, o pins.Offer) (pins.Checked, error)

	// CheckHandshake returns the instructions of a server that were accepted, why those that it gives are held, "" if
	// they are not, and whether they are pinned from now on.
	CheckHandshake(ctx context.Context, server, instructions string, self pins.Definition) (accepted, why string, pinned bool, err error)

	// Unreviewed returns how many definitions that hosts may have been shown nobody has reviewed, by server.
	Unreviewed() (map[string]pins.Counts, error)
}

// howToAccept says how a person accepts the definitions of a server.
func (v *reviews) howToAccept(server string) string {
	return "; a person can look at it and accept it with " + v.Review(server)
}

// tellUnreviewed tells once that nobody vouches for the definitions of a server.
func (v *reviews) tellUnreviewed(server string, trust contract.Trust) {
	counts, err := v.Pins.Unreviewed()
	n := counts[server].Unvouched(trust != contract.Untrusted)
	if err != nil || n == 0 {
		return
	}
	if _, told := v.told.LoadOrStore(server, true); !told {
		v.Log.Warn("nobody has reviewed definitions of a server, so conversations that see them are untrusted",
			"server", server, "definitions", n, "hint", v.Review(server))
	}
}

// The reviews of a registry keep definitions back that no one has accepted.
type reviews struct {
	*Options
	told sync.Map // servers whose unreviewed definitions the log has told of

	mu   sync.Mutex
	held map[string]map[pins.Kind]map[string]pins.Held // by server; see Held
}

// instructions returns the accepted instructions of a server, which the model may read. They get there before any call
// that could be decided.
func (v *reviews) instructions(ctx context.Context, server string, said json.RawMessage) (string, error) {
	raw, _ := rawjson.Get(said, "instructions")
	text, _ := rawjson.String(raw)
	if v.Pins == nil {
		return text, nil
	}
	accepted, why, pinned, err := v.Pins.CheckHandshake(ctx, server, text, catalog.Self(said))
	if err != nil {
		return "", fmt.Errorf("server %s: %w", server, err)
	}
	v.holdsBack(server, text, accepted, why)
	if why != "" {
		err = v.Defect(ctx, server, "", "", annotation.Defect{Where: "instructions", Reason: why + v.howToAccept(server)})
	}
	if pinned && text != "" {
		err = v.pinned(ctx, server, "")
	}
	return accepted, err
}

// pinned records a pin.
func (v *reviews) pinned(ctx context.Context, server, name string) error {
	e := record.New(record.Pin, time.Now())
	e.Server, e.Name = server, name
	if err := v.Record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording a pin: %w", err)
	}
	return nil
}

// pin holds the entries of a server's list whose definitions nobody has accepted. An error means that nothing of the
// list may be shown.
func (v *reviews) pin(ctx context.Context, of *Server, kind catalog.Kind, s *catalog.Source) error {
	if v.Pins == nil {
		return nil
	}
	checked, err := v.Pins.Check(ctx, s.Offer(kind))
	if err != nil {
		return fmt.Errorf("server %s: %w", s.Server, err)
	}
	for _, name := range checked.Pinned {
		if err := v.pinned(ctx, s.Server, name); err != nil {
			return err
		}
	}
	v.tellUnreviewed(s.Server, s.Trust)
	v.holds(s.Server, kind.Pins, checked.Held)
	if kind.Method == catalog.Tools.Method {
		if err := v.changed(ctx, of, s.Words.Reader, checked); err != nil {
			return err
		}
	}
	s.Hold(kind, checked, v.howToAccept(s.Server))
	return nil
}

// changed counts a breach of contract for changed definitions, and forgives those that a person has accepted since.
func (v *reviews) changed(ctx context.Context, of *Server, reader annotation.Reader, checked pins.Checked) error {
	if v.Conduct.Breach == nil {
		return nil
	}
	reviewed := map[string]bool{}
	for name, d := range checked.Reviewed {
		reviewed[changeOf(name, d)] = true
	}
	if err := v.Conduct.Reviewed(ctx, of, reviewed); err != nil {
		return err
	}
	return v.weakened(ctx, of, reader, checked.Held)
}

// changeOf returns the digest of a definition of a tool.
func changeOf(name string, d pins.Definition) string {
	sum := sha256.Sum256(slices.Concat([]byte(name), []byte{0}, d.Entry(pins.Tools, name)))
	return hex.EncodeToString(sum[:16])
}

// weakened counts a breach of contract for accepted definitions that a server has changed so that they promise what the
// accepted ones did not, or state nothing where those stated something.
func (v *reviews) weakened(ctx context.Context, of *Server, reader annotation.Reader, held map[string]pins.Held) error {
	var tools, changes, members []string
	for _, name := range slices.Sorted(maps.Keys(held)) {
		h := held[name]
		if h.Accepted == nil {
			continue
		}
		before, _ := reader.ReadTool(h.Accepted.Entry(pins.Tools, name))
		after, _ := reader.ReadTool(h.Offered.Entry(pins.Tools, name))
		if changed := slices.Concat(after.Narrows(before), after.Dropped(before)); len(changed) > 0 {
			tools, changes, members = append(tools, name), append(changes, changeOf(name, h.Offered)), append(members, changed...)
		}
	}
	if tools == nil {
		return nil
	}
	slices.Sort(members)
	return v.Conduct.Breach(ctx, of, strings.Join(tools, ", "), guard.Breach{Changes: changes, Defect: annotation.Defect{
		Where: "annotations", Reason: "definitions were changed to promise more, or to say less: " + strings.Join(slices.Compact(members), ", "),
	}})
}

// all returns the definitions that no one has accepted, as their servers gave them last, by server, kind and name.
func (v *reviews) all() []pins.Held {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []pins.Held
	for _, server := range slices.Sorted(maps.Keys(v.held)) {
		for _, kind := range pins.Kinds() {
			held := v.held[server][kind]
			for _, name := range slices.Sorted(maps.Keys(held)) {
				all = append(all, held[name])
			}
		}
	}
	return all
}

// holds notes which definitions of a server are held.
func (v *reviews) holds(server string, kind pins.Kind, held map[string]pins.Held) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.held[server] == nil {
		v.held[server] = map[pins.Kind]map[string]pins.Held{}
	}
	v.held[server][kind] = maps.Clone(held)
}

// holdsBack notes why the instructions of a server are held; "" if they are not.
func (v *reviews) holdsBack(server, offered, accepted, why string) {
	if why == "" {
		v.holds(server, pins.Handshake, nil)
		return
	}
	v.holds(server, pins.Handshake, map[string]pins.Held{pins.Preamble: pins.HeldInstructions(server, accepted, offered)})
}

// drop forgets the definitions of servers that are not configured any more.
func (v *reviews) drop(configured []Server) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.held, func(name string, _ map[pins.Kind]map[string]pins.Held) bool {
		return !slices.ContainsFunc(configured, func(s Server) bool { return s.Name == name })
	})
}
