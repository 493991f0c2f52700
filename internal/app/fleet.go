package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/status"
)

// A processes is the processes of the user that serve now. It implements [console.Fleet].
type processes struct {
	env  *home.Env
	self *statusSource // of this process, if it serves
}

// A process is one of them.
type process struct {
	status.Process
	told details
}

func (v *process) name() string { return fmt.Sprintf("%s (%d)", v.Command, v.PID) }

// processes asks the running processes for their status and details. Processes that do not answer are left out.
func (f *processes) processes(ctx context.Context) []process {
	var all []process
	if f.self != nil {
		p := f.self.process()
		p.PID = f.env.Process()
		all = append(all, process{p, f.self.details()})
	}
	dir, err := f.env.RunDir()
	if err != nil {
		return all
	}
	others, err := status.List(ctx, dir)
	if err != nil {
		return all
	}
	for _, p := range others {
		v := process{Process: p}
		if p.Error != "" || f.self != nil && p.PID == f.env.Process() || status.Details(ctx, dir, p.PID, &v.told) != nil {
			continue
		}
		for i := range v.told.Held {
			v.told.Held[i].canonical()
		}
		all = append(all, v)
	}
	return all
}

// Servers implements [console.Fleet].
func (f *processes) Servers(ctx context.Context) (all []console.Server, _ error) {
	for _, p := range f.processes(ctx) {
		for _, s := range p.Servers {
			all = append(all, console.Server{Name: s.Name, Process: p.name(), Trust: s.Trust, State: ServerState(s, time.Now()),
				Error: s.Error, Calls: s.Calls})
		}
	}
	return all, nil
}

// Policies implements [console.Fleet]. Processes that decide by the same one share it.
func (f *processes) Policies(ctx context.Context) (all []console.Policy, _ error) {
	var digests []string
	for _, p := range f.processes(ctx) {
		key := p.Digest + " " + p.Mode
		if i := slices.Index(digests, key); i >= 0 {
			all[i].Processes += ", " + p.name()
			continue
		}
		digests = append(digests, key)
		one := console.Policy{Name: p.Policy, Mode: p.Mode, Processes: p.name()}
		for _, r := range p.told.Rules {
			one.Rules = append(one.Rules, console.Rule(r))
		}
		all = append(all, one)
	}
	return all, nil
}

// Tools implements [console.Fleet].
func (f *processes) Tools(ctx context.Context) (all []console.Tool, _ error) {
	for _, p := range f.processes(ctx) {
		for _, t := range p.told.Tools {
			all = append(all, shownTool(p.name(), t))
		}
	}
	return all, nil
}

func shownTool(process string, t toolTold) console.Tool {
	out := console.Tool{
		Process: process, Server: t.Server, Name: t.Name, Shown: t.Shown, Trust: t.Trust, Title: t.Title,
		Description: t.Description, Brief: contractLine(t.ToolReport), Held: t.Held,
	}
	if t.Refined {
		out.Notes = append(out.Notes, "An overlay refines this by the arguments of the call.")
	}
	if t.Resolves {
		out.Notes = append(out.Notes, "The server says what a call would do.")
	}
	for _, m := range t.Contract {
		value := strings.Join(m.Values, ", ")
		switch {
		case !m.Known:
			value = "not known"
		case value == "":
			value = "none"
		}
		out.Contract = append(out.Contract, console.Member{Name: m.Name, Value: value, From: m.From, Dialects: strings.Join(m.Dialects, ", ")})
	}
	for _, n := range t.Carries {
		out.Carries = append(out.Carries, console.Figure{Name: n.Where, Value: n.Value})
	}
	return out
}

// Pins implements [console.Fleet]. Processes that share a file have one entry.
func (f *processes) Pins(ctx context.Context) (all []console.PinFile, _ error) {
	for _, p := range f.processes(ctx) {
		if p.told.Pins == nil {
			continue
		}
		i := slices.IndexFunc(all, func(other console.PinFile) bool { return other.Path == p.told.Pins.File })
		if i < 0 {
			i = len(all)
			all = append(all, console.PinFile{Path: p.told.Pins.File, Process: p.name(), Review: p.told.Pins.Review, Tools: p.told.Pins.Tools})
		} else {
			all[i].Process += ", " + p.name()
		}
		for _, h := range p.told.Held {
			pin := shownPin(p.told.Pins, &h)
			if !slices.ContainsFunc(all[i].Pins, func(other console.Pin) bool { return other.ID == pin.ID }) {
				all[i].Pins = append(all[i].Pins, pin)
			}
		}
	}
	return all, nil
}

func shownPin(at *pinsTold, h *heldTold) console.Pin {
	p := console.Pin{ID: at.id(h), Server: h.Server, Tool: h.Name, New: h.Accepted == nil, Seen: h.Seen, TooLarge: h.TooLarge}
	switch {
	case h.ID == pins.ID{Kind: pins.Handshake, Name: pins.Preamble}:
		p.Tool = ""
	case h.Kind != pins.Tools:
		p.Tool = NameOfDefinition(h.Kind, h.Name)
	}
	if h.TooLarge {
		return p
	}
	changes := h.Differences()
	if h.Seen {
		changes = pins.Definition{}.Differences(h.Offered)
	}
	for _, d := range changes {
		p.Changes = append(p.Changes, console.Change(d))
	}
	p.Findings = findingsOf(h.Held)
	return p
}

// id stands for a difference: the file, the accepted definition and the offered one.
func (p *pinsTold) id(h *heldTold) string {
	raw, err := json.Marshal(h)
	if err != nil {
		raw = nil // it was read from JSON
	}
	sum := sha256.Sum256(append([]byte(p.File+"\x00"), raw...))
	return hex.EncodeToString(sum[:])
}

// errNotHeld is the error of accepting a definition that is not offered, or not any more.
var errNotHeld = errors.New("that is not what the tool looks like now: look at the page of pins again")

// held returns the tool whose difference an id stands for, and where it is pinned.
func (f *processes) held(ctx context.Context, id string) (pins.Held, *pinsTold, error) {
	for _, p := range f.processes(ctx) {
		for _, h := range p.told.Held {
			if p.told.Pins != nil && p.told.Pins.id(&h) == id {
				if h.TooLarge {
					return pins.Held{}, nil, errors.New("that tool is too large to be shown here: use weir review")
				}
				return h.Held, p.told.Pins, nil
			}
		}
	}
	return pins.Held{}, nil, errNotHeld
}

// accept pins a tool as it is offered, for all machines that share the store.
func (p *pinsTold) accept(ctx context.Context, h pins.Held, shared pins.Shared) error {
	if !filepath.IsAbs(p.File) {
		return fmt.Errorf("the file of pins is told as %s, which is no absolute path", plain.Quote(p.File, 200))
	}
	file, err := pins.Open(p.File, pins.Options{Mutex: p.Mutex, Shared: shared})
	if err != nil {
		return err
	}
	lock, err := file.Lock()
	if err != nil {
		return err
	}
	var shown pins.Definition
	if h.Accepted != nil {
		shown = *h.Accepted
	}
	if was, _ := lock.Get(h.Server, h.ID); len(was.Definition.Differences(shown)) > 0 {
		return errNotHeld
	}
	return file.Accept(ctx, []pins.Held{h})
}
