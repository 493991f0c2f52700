package pins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// A Mode is the treatment of a tool, a prompt or instructions that were never seen before. The zero Mode pins them as
// they are.
type Mode uint8

const (
	FirstUse Mode = iota // it is pinned as it is
	Review               // it is held until a person accepts it
)

// Options configures a File.
type Options struct {
	Mode  Mode
	Mutex string // a file by which processes take turns to write; "": the lock's own path with ".mutex" at the end

	Shared Shared // pins of other machines; nil: nobody shares these pins
}

// A File is weir.lock, shared by every process that opens it. It may be used concurrently.
type File struct {
	path string
	opts Options

	mu   sync.Mutex
	last Lock // as it was read or written last
	seen fs.FileInfo

	counts map[string]Counts // of last; nil if they were not counted yet
}

// Open returns the lock file at path, which need not exist. The error describes mistakes in its content.
func Open(path string, opts Options) (*File, error) {
	if opts.Mutex == "" {
		opts.Mutex = path + ".mutex"
	}
	f := &File{path: path, opts: opts}
	_, err := f.Lock()
	return f, err
}

// Path returns where the file is.
func (f *File) Path() string { return f.path }

// Options returns the options of the opened file, with their defaults.
func (f *File) Options() Options { return f.opts }

// Lock returns the present pins. It must not be changed.
func (f *File) Lock() (Lock, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read()
}

// read returns the content of the file, reading it if it may have changed.
func (f *File) read() (Lock, error) {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.last, f.counts, f.seen = Lock{}, nil, nil
		return f.last, nil
	case err != nil:
		return nil, fmt.Errorf("reading pins: %w", err)
	case f.seen != nil && os.SameFile(f.seen, info) && f.seen.ModTime().Equal(info.ModTime()) && f.seen.Size() == info.Size():
		return f.last, nil
	}
	src, err := os.ReadFile(f.path)
	if err != nil {
		return nil, fmt.Errorf("reading pins: %w", err)
	}
	lock, err := Parse(src)
	if err != nil {
		return nil, fmt.Errorf("reading pins: %s: %w", f.path, err)
	}
	if f.opts.Mode == Review {
		lock.accepted()
	}
	f.last, f.counts, f.seen = lock, nil, info
	return lock, nil
}

// Held is a definition that nobody has reviewed, and that hosts therefore do not see.
type Held struct {
	Server string
	ID
	Accepted *Definition // the accepted definition; nil if there is none
	Offered  Definition  // the server's present definition
}

// Differences returns the differences that a person has to review.
func (h Held) Differences() []Difference {
	if h.Accepted == nil {
		return Definition{}.Differences(h.Offered)
	}
	return h.Accepted.Differences(h.Offered)
}

// String says in one line why the definition is held. It quotes nothing of the server but the names of changed members.
func (h Held) String() string {
	if h.Accepted == nil {
		return "its definition was not accepted yet"
	}
	var members []string
	for _, d := range h.Differences() {
		members = append(members, d.Member)
	}
	return "its definition has changed since it was accepted: " + strings.Join(members, ", ")
}

// An Offer is everything of one kind that a server offers.
type Offer struct {
	Server  string
	Kind    Kind
	Entries map[string]Definition
}

// Checked is the result of checking an offer. Hosts may be shown a definition that is neither held nor kept as the
// server has it, since that is pinned.
type Checked struct {
	Held   map[string]Held       // must not be used
	Kept   map[string]Definition // shown as it was pinned: the server changes members that decide nothing
	Pinned []string              // for the first time, or anew

	Reviewed map[string]Definition // as a person has accepted them

	Confirmed map[string]Arguments // of tools, as a person has confirmed them
}

// Check compares an offer with its pins, and pins new definitions if the mode says so. An error means that nothing of
// the server may be shown.
func (f *File) Check(ctx context.Context, o Offer) (Checked, error) {
	lock, err := f.Lock()
	if err != nil {
		return Checked{}, err
	}
	c, added := o.compare(lock, f.opts.Mode, o.status(lock, f.opts.Mode))
	settled, err := f.settle(ctx, lock, o, c, added)
	if err != nil {
		return Checked{}, err
	}
	_, listed := lock[o.Server][o.Kind]
	if len(added)+len(settled) == 0 && (listed || f.opts.Mode == Review) {
		return c, nil
	}
	// Another process may have pinned them meanwhile, and differently.
	err = f.change(ctx, func(lock Lock) {
		status := o.status(lock, f.opts.Mode)
		lock.add(o.Server, o.Kind, settled)
		c, added = o.compare(lock, f.opts.Mode, status)
		lock.add(o.Server, o.Kind, added)
	})
	c.Pinned = slices.Sorted(maps.Keys(added))
	return c, err
}

// status returns who vouches for definitions of the offer that were never seen: for a whole offer, whoever trusts the
// server.
func (o Offer) status(lock Lock, mode Mode) Status {
	before, listed := lock[o.Server][o.Kind]
	switch {
	case mode == Review:
		return Later
	case !listed, o.Kind == Handshake && before[Preamble].partial: // version 1 pinned instructions, and nothing else of a handshake
		return First
	}
	return Later
}

// compare returns the outcome of an offer under a lock, and the definitions to pin.
func (o Offer) compare(lock Lock, mode Mode, status Status) (c Checked, added map[string]Pin) {
	c, added = Checked{Held: map[string]Held{}, Kept: map[string]Definition{}, Reviewed: map[string]Definition{}}, map[string]Pin{}
	if o.Kind == Tools {
		c.Confirmed = lock.Confirmed(o.Server)
	}
	for name, now := range o.Entries {
		id := ID{o.Kind, name}
		was, known := lock.Get(o.Server, id)
		now = lock.Apart(o.Server, id, now)
		holds := o.Kind.holds(name)
		if known && was.Status == Reviewed {
			c.Reviewed[name] = was.Definition
		}
		switch {
		case !known && name == Beside && len(now) == 0:
		case !known && holds && mode == Review:
			c.Held[name] = Held{o.Server, id, nil, now}
		case !known:
			added[name] = Pin{Status: status, Definition: now}
		case holds && was.drifts(now):
			c.Held[name] = Held{o.Server, id, &was.Definition, now}
		case was.partial:
			added[name] = Pin{Status: was.Status, Definition: now}
		case len(was.Definition.Differences(now)) == 0:
		case holds:
			c.Kept[name] = was.Definition
		default:
			added[name] = Pin{Status: Later, Definition: now}
		}
	}
	return c, added
}

// CheckHandshake is Check for a server's handshake: the instructions to the model, and everything else. It returns the
// instructions that were accepted, and why the others are held: "" if they are not. That a server gives none is pinned
// too.
func (f *File) CheckHandshake(ctx context.Context, server, instructions string, self Definition) (accepted, why string, pinned bool, err error) {
	c, err := f.Check(ctx, Offer{server, Handshake, map[string]Definition{Preamble: Instructions(instructions), Self: self}})
	if err != nil {
		return "", "", false, err
	}
	h, isHeld := c.Held[Preamble]
	switch {
	case !isHeld || instructions == "": // there is nothing to hold
		return instructions, "", slices.Contains(c.Pinned, Preamble), nil
	case h.Accepted == nil:
		return "", "the server's instructions were not accepted yet", false, nil
	}
	return h.Accepted.Text(), "the server's instructions have changed since they were accepted", false, nil
}

// Unvouched returns the pinned definitions of a server for which nobody vouches, in the order in which a person reads
// them. An empty definition says nothing.
func (l Lock) Unvouched(server string, trusted bool) (all []Held) {
	for _, kind := range Kinds() {
		for _, name := range slices.Sorted(maps.Keys(l[server][kind])) {
			if p := l[server][kind][name]; !p.Vouched(trusted) && len(p.Definition) > 0 {
				all = append(all, Held{server, ID{kind, name}, &p.Definition, p.Definition})
			}
		}
	}
	return all
}

// HeldInstructions returns the instructions of a server that are held. Accepted is "" if none were accepted.
func HeldInstructions(server, accepted, offered string) Held {
	h := Held{Server: server, ID: ID{Handshake, Preamble}, Offered: Instructions(offered)}
	if accepted != "" {
		was := Instructions(accepted)
		h.Accepted = &was
	}
	return h
}

// Unreviewed returns how many pinned definitions nobody has reviewed, by server. It must not be changed.
func (f *File) Unreviewed() (map[string]Counts, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.read(); err != nil {
		return nil, err
	}
	if f.counts == nil {
		f.counts = f.last.unreviewed()
	}
	return f.counts, nil
}

// Accept pins definitions as they are offered, as reviewed by a person.
func (f *File) Accept(ctx context.Context, all []Held) error {
	if err := f.tell(ctx, all); err != nil {
		return err
	}
	return f.change(ctx, func(lock Lock) {
		for _, h := range all {
			lock.add(h.Server, h.Kind, map[string]Pin{h.Name: {Status: Reviewed, Definition: h.Offered}})
		}
	})
}

// Review pins the whole offer, as reviewed by a person, and forgets definitions of these kinds that are not offered any
// more.
func (f *File) Review(ctx context.Context, offers []Offer) error {
	lock, err := f.Lock()
	if err != nil {
		return err
	}
	for _, o := range offers {
		var all []Held
		for name, d := range o.Entries {
			if was, _ := lock.Get(o.Server, ID{o.Kind, name}); was.Status != Reviewed || len(was.Definition.Differences(d)) > 0 {
				all = append(all, Held{Server: o.Server, ID: ID{o.Kind, name}, Offered: d})
			}
		}
		var gone []ID
		for name := range lock[o.Server][o.Kind] {
			if _, offered := o.Entries[name]; !offered {
				gone = append(gone, ID{o.Kind, name})
			}
		}
		if err := f.forget(ctx, o.Server, gone); err != nil {
			return err
		}
		if err := f.tell(ctx, all); err != nil {
			return err
		}
	}
	return f.change(ctx, func(lock Lock) {
		for _, o := range offers {
			pins := map[string]Pin{}
			for name, d := range o.Entries {
				pins[name] = Pin{Status: Reviewed, Definition: d}
			}
			was := lock[o.Server][o.Kind]
			for name, p := range pins {
				pins[name] = p.after(was[name])
			}
			delete(lock[o.Server], o.Kind)
			lock.add(o.Server, o.Kind, pins)
		}
	})
}

// A Confirmation is the parts of the arguments of a tool that a person confirms, or, without any, takes back.
type Confirmation struct {
	Tool       string
	Definition Definition // that the person was shown
	Arguments  *Arguments // nil: none
}

// Confirm keeps the parts of the arguments of a server's tools, beside the pins of their definitions. If the pin of
// one of them is another by now, nothing is kept.
func (f *File) Confirm(ctx context.Context, server string, all []Confirmation) error {
	var changed string
	err := f.change(ctx, func(lock Lock) {
		tools := maps.Clone(lock[server][Tools])
		for _, c := range all {
			p, ok := tools[c.Tool]
			if !ok || p.Definition.digest() != c.Definition.digest() {
				changed = c.Tool
				return
			}
			p.Arguments = c.Arguments
			tools[c.Tool] = p
		}
		lock[server][Tools] = tools
	})
	if err == nil && changed != "" {
		err = fmt.Errorf("the pinned definition of the tool %.128q of server %.128q is another by now", changed, server)
	}
	return err
}

// change has edit change a copy of the lock and puts it in the place of the file, one process at a time. A crash leaves
// either the old file or the new one.
func (f *File) change(ctx context.Context, edit func(Lock)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(f.opts.Mutex).Lock()
	if err != nil {
		return fmt.Errorf("writing pins: %w", err)
	}
	defer unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	old, err := f.read()
	if err != nil {
		return err
	}
	lock := old.clone()
	edit(lock)
	src, err := lock.Encode()
	if err == nil {
		err = replace(f.path, src)
	}
	if err != nil {
		return fmt.Errorf("writing pins: %w", err)
	}
	f.last, f.counts, f.seen = lock, nil, nil
	return nil
}

// replace puts a new file in the place of path, after its content is on the disk.
func replace(path string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(content)
	if err == nil {
		err = tmp.Chmod(0o644) // it is there to be shared and reviewed
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
