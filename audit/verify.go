package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// maxFindings is how many findings a report holds; of more, it holds the first.
const maxFindings = 100

// A Finding is one thing that is wrong with a log.
type Finding struct {
	Entry int64  `json:"entry"` // the number of the entry, or of the first that may be concerned; -1 if it is none
	What  string `json:"what"`
}

// A Result is the result of verifying a log. The zero Result is none.
type Result string

// The results.
const (
	OK       Result = "ok"       // all of it is signed or sealed, nothing was changed and nothing is missing
	Damaged  Result = "damaged"  // something was changed, removed or added
	Unsigned Result = "unsigned" // nothing wrong was found, but not all could be checked
)

// A Report holds the findings of [Verify].
type Report struct {
	Origin      string    `json:"origin,omitempty"`
	Size        int64     `json:"entries"`
	Root        tlog.Hash `json:"root"`
	Signed      int64     `json:"signed"`   // how many of the entries the last checkpoint covers
	Anchored    bool      `json:"anchored"` // whether the log was held against its anchor
	Sealed      bool      `json:"sealed"`   // whether the seal covers those after the last checkpoint
	Checkpoints int       `json:"checkpoints"`
	Chains      int       `json:"chains"`
	Erased      int64     `json:"erased"`
	Findings    []Finding `json:"findings,omitempty"`
	More        int       `json:"more,omitempty"`      // findings beyond those
	Unchecked   []string  `json:"unchecked,omitempty"` // the parts that could not be checked
}

// OK reports whether nothing wrong was found. Whether all was checked tells [Report.Result].
func (r *Report) OK() bool { return len(r.Findings) == 0 }

// Result returns the result of the verification.
func (r *Report) Result() Result {
	switch {
	case !r.OK():
		return Damaged
	case len(r.Unchecked) > 0:
		return Unsigned
	}
	return OK
}

func (r *Report) find(entry int64, format string, args ...any) {
	if len(r.Findings) == maxFindings {
		r.More++
		return
	}
	r.Findings = append(r.Findings, Finding{entry, fmt.Sprintf(format, args...)})
}

// VerifyOptions say to which anchor and checkpoints [Verify] compares a log.
type VerifyOptions struct {
	Key       string  // the public key that signs now, or one that signed before; "": that of the anchor
	Anchor    *Anchor // nil: none, so that it cannot be seen whether the log was shortened
	Elsewhere bool    // the caller compares the log with a checkpoint that was elsewhere, by [Extends]
}

// Verify reads the whole log, as it is at one time, and checks all of it: each entry against its leaf, each chain, the
// tree, each checkpoint, the seal and the anchor. An error means that it could not read the log.
func Verify(ctx context.Context, st Store, opts VerifyOptions) (*Report, error) {
	v := &verification{Report: &Report{}, opts: opts, chains: map[ID]*chain{}}
	if a := opts.Anchor; a != nil {
		if err := a.refresh(); err != nil { // before the log is read, which goes on meanwhile
			return nil, fmt.Errorf("verifying: %w", err)
		}
		v.last, v.seen = a.state()
		if v.Anchored = true; opts.Key == "" {
			v.opts.Key = a.Key().Verifier()
		}
	}
	err := st.Snapshot(ctx, func(st Store) error {
		v.st = st
		return v.run(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("verifying: %w", err)
	}
	return v.Report, nil
}

func (v *verification) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		v.readCheckpoints, v.readAnchor, v.readLinks, v.readRows, v.checkNodes, v.checkLinks, v.checkHead,
	} {
		err := step(ctx)
		switch {
		case errors.Is(err, ErrDamaged): // the damage kept it from being read
			v.find(-1, "%v", err)
		case err != nil:
			return err
		}
	}
	return nil
}

// A verification is one run of Verify.
type verification struct {
	*Report
	opts    VerifyOptions
	last    []byte // the checkpoint of the anchor, and how far the log was seen to come
	seen    mark
	st      Store
	pending []pinned // the trees that are not reached yet, by size
	pinned  int64    // the size of the last tree that held
	links   []Link   // the ends of the chains as they are kept
	chains  map[ID]*chain
	tree    Head
	nodes   []Node
	seq     int64 // the number of the next entry
	broken  bool  // the tree has changed, for a reason that was reported
}

// A chain is the part of one that was read.
type chain struct {
	Link
	named  bool
	erased bool // its last entry is
}

func (v *verification) readRows(ctx context.Context) error {
	for row, err := range v.st.Rows(ctx, Query{}) {
		if err != nil {
			return err
		}
		v.row(&row)
	}
	v.Size, v.Root = v.seq, v.tree.Root()
	for _, p := range v.pending {
		v.find(v.seq, "the log ends after %d entries, and %s over %d: later entries were removed", v.seq, p.known, p.size)
	}
	return nil
}

func (v *verification) row(r *Row) {
	if r.Seq != v.seq {
		v.find(v.seq, "missing: entry %d follows entry %d", r.Seq, v.seq-1)
		v.broken = true
		for len(v.pending) > 0 && v.pending[0].size <= r.Seq && v.pending[0].size > v.seq {
			v.pending = v.pending[1:]
		}
	}
	v.seq = r.Seq + 1
	if r.Erased() {
		v.Erased++
	}
	leaf, err := r.Check()
	if err != nil {
		v.find(r.Seq, "%v", err)
	}
	hash := tlog.RecordHash(r.Leaf)
	if len(r.Leaf) == leafSize {
		v.link(r, leaf, hash)
	}
	if !v.broken {
		v.nodes = v.tree.push(hash, v.nodes)
	}
	v.atCheckpoint()
}

// link checks the entry's place in its chain.
func (v *verification) link(r *Row, leaf Leaf, hash tlog.Hash) {
	c := v.chains[leaf.Chain]
	if c == nil {
		c = &chain{Link: Link{ID: leaf.Chain}}
		v.chains[leaf.Chain] = c
		v.find(r.Seq, "it is of the chain %s, whose end is not kept", leaf.Chain)
	}
	switch {
	case leaf.Pos != c.Next:
		v.find(r.Seq, "it is number %d of the chain %s, after number %d", leaf.Pos, leaf.Chain, c.Next-1)
	case leaf.Prev != c.Last:
		v.find(r.Seq, "it does not follow entry number %d of the chain %s as that is now", leaf.Pos-1, leaf.Chain)
	}
	c.Next, c.Last, c.erased = leaf.Pos+1, hash, r.Erased()
	if r.Erased() {
		return
	}
	if c.named && c.Name != r.Chain {
		v.find(r.Seq, "it is called of the chain %.60q, and others of that chain are of %.60q", r.Chain, c.Name)
	}
	c.Name, c.named = r.Chain, true
}

// atCheckpoint checks the checkpoints over the entries read so far.
func (v *verification) atCheckpoint() {
	for len(v.pending) > 0 && v.pending[0].size == v.seq {
		p := v.pending[0]
		v.pending = v.pending[1:]
		if v.broken {
			continue
		}
		if p.root != v.tree.Root() {
			v.find(v.pinned, "something from here up to entry %d is not as it was when %s over %d entries", v.seq-1, p.known, p.size)
			v.broken = true
			continue
		}
		v.pinned = p.size
	}
}

// checkNodes compares the nodes that are kept with those of the rows.
func (v *verification) checkNodes(ctx context.Context) error {
	if v.broken {
		return nil
	}
	want := map[int][]Node{}
	top := 1
	for _, n := range v.nodes {
		want[n.Level] = append(want[n.Level], n)
		top = max(top, n.Level)
	}
	for level := 1; level <= top+1; level++ {
		got, err := v.st.Nodes(ctx, level, 0, 1<<62)
		if err != nil {
			return err
		}
		for i := range max(len(got), len(want[level])) {
			if i >= len(got) || i >= len(want[level]) || got[i] != want[level][i] {
				v.find(int64(i)<<(level*tileHeight), "the hash %d at level %d of the tree is not that of the entries", i, level*tileHeight)
				break
			}
		}
	}
	return nil
}

func (v *verification) checkHead(ctx context.Context) error {
	head, err := v.st.Head(ctx)
	if err != nil {
		return err
	}
	switch {
	case head.Size > v.seq:
		v.find(v.seq, "missing: the log has %d entries, and was kept as having %d", v.seq, head.Size)
	case head.Size < v.seq:
		v.find(head.Size, "added: the log has %d entries, and was kept as having %d", v.seq, head.Size)
	case !v.broken && !head.Equal(v.tree):
		v.find(v.pinned, "something from here up to entry %d is not as the log's head has it", v.seq-1)
	}
	v.checkSeal(head)
	return v.checkEnds(ctx, head)
}

// checkSeal checks that the entries after the last checkpoint are under the seal of the head.
func (v *verification) checkSeal(head Head) {
	a := v.opts.Anchor
	switch tail := v.seq - v.Signed; {
	case a != nil:
		if err := a.checkSeal(head); err != nil {
			v.find(min(v.Signed, max(v.seq-1, 0)), "from here on: %v", err)
			return
		}
		v.Sealed = len(head.Seal) > 0
	case v.seq > 0 && v.Checkpoints == 0:
		v.Unchecked = append(v.Unchecked, "there is no checkpoint, and no anchor to check the seal by: anybody could have written the log")
	case tail > 0:
		v.Unchecked = append(v.Unchecked, fmt.Sprintf("the last %d entries are under no checkpoint, and there is no anchor to check the seal by", tail))
	}
	if a == nil && !v.opts.Elsewhere {
		v.Unchecked = append(v.Unchecked, "whether the log was shortened cannot be seen without its anchor or a checkpoint from elsewhere")
	}
}

// readCheckpoints reads the checkpoints and checks who signed them.
func (v *verification) readCheckpoints(ctx context.Context) error {
	verifier := v.opts.Key
	var all []Checkpoint
	for c, err := range v.st.Checkpoints(ctx, math.MinInt64) { // a size below zero is one that was changed
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	at, err := signers(all, verifier)
	if err != nil {
		v.find(-1, "%v", err)
		return nil
	}
	for i, c := range all {
		said, err := openNote(c.Note, at[i]...)
		if err == nil && said.size != c.Size {
			err = fmt.Errorf("%w: it says it is over %d entries", ErrDamaged, said.size)
		}
		if err != nil {
			v.find(-1, "the checkpoint over %d entries: %v", c.Size, err)
			continue
		}
		v.Origin, v.Signed = said.origin, max(v.Signed, said.size)
		v.Checkpoints++
		v.pending = append(v.pending, pinned{said.size, said.root, "a checkpoint was signed"})
	}
	if len(all) > 0 && v.Checkpoints == 0 {
		v.find(-1, "no checkpoint is signed with the key %s", verifier)
	}
	return nil
}

// readAnchor reads where the anchor says that the log was.
func (v *verification) readAnchor(context.Context) error {
	if v.opts.Anchor == nil {
		return nil
	}
	if v.seen.size > 0 {
		v.pending = append(v.pending, pinned{v.seen.size, v.seen.root, "it was seen"})
	}
	if v.last == nil {
		v.find(-1, "its anchor holds no checkpoint: the log is not one that was written under it")
		return nil
	}
	said, _, err := v.opts.Anchor.trusted(v.last)
	if err != nil {
		return err
	}
	kept := said.size == 0 || slices.ContainsFunc(v.pending, func(p pinned) bool { return p.size == said.size && p.known != "it was seen" })
	if !kept {
		v.find(-1, "the checkpoint over %d entries, which its anchor holds, was removed", said.size)
	}
	v.Origin, v.Signed = said.origin, max(v.Signed, said.size)
	v.pending = append(v.pending, pinned{said.size, said.root, "its anchor was made"})
	slices.SortStableFunc(v.pending, func(a, b pinned) int { return cmp.Compare(a.size, b.size) })
	for len(v.pending) > 0 && v.pending[0].size == 0 {
		v.pending = v.pending[1:]
	}
	return nil
}

// signers returns for each checkpoint the keys that have to have signed it: of two keys that a handover names, the one
// before it, the other after it, and both the handover itself. The verifier is one of all.
func signers(all []Checkpoint, verifier string) ([][]string, error) {
	var handovers []*statement // ascending
	for _, c := range all {
		if s, err := peek(c.Note); err == nil && s.to != "" {
			handovers = append(handovers, s)
		}
	}
	for i := 1; i < len(handovers); i++ {
		if handovers[i].from != handovers[i-1].to {
			return nil, fmt.Errorf("%w: it was handed over to one key, and next by another", ErrKey)
		}
	}
	current := verifier
	known := len(handovers) == 0
	for i, h := range handovers {
		if i == 0 {
			current = h.from
		}
		known = known || h.from == verifier || h.to == verifier
	}
	if !known {
		return nil, errors.New("the key that was given is none of those that the log was handed over to or from")
	}
	out := make([][]string, len(all))
	for i, c := range all {
		out[i] = []string{current}
		if s, err := peek(c.Note); err == nil && s.to != "" {
			out[i] = []string{s.from, s.to}
			current = s.to
		}
	}
	return out, nil
}
