package audit

import (
	"context"
	"errors"
	"fmt"
	"math"

	"golang.org/x/mod/sumdb/tlog"
)

// maxFindings is how many findings a report holds; of more, it holds the first.
const maxFindings = 100

// A Finding is one thing that is wrong with a log.
type Finding struct {
	Entry int64  `json:"entry"` // the number of the entry, or of the first that may be concerned; -1 if it is none
	What  string `json:"what"`
}

// A Report is what [Verify] found.
type Report struct {
	Origin      string    `json:"origin,omitempty"`
	Size        int64     `json:"entries"`
	Root        tlog.Hash `json:"root"`
	Signed      int64     `json:"signed"` // how many of the entries the last checkpoint covers
	Checkpoints int       `json:"checkpoints"`
	Chains      int       `json:"chains"`
	Erased      int64     `json:"erased"`
	Findings    []Finding `json:"findings,omitempty"`
	More        int       `json:"more,omitempty"` // findings beyond those
}

// OK reports whether nothing is wrong.
func (r *Report) OK() bool { return len(r.Findings) == 0 }

func (r *Report) find(entry int64, format string, args ...any) {
	if len(r.Findings) == maxFindings {
		r.More++
		return
	}
	r.Findings = append(r.Findings, Finding{entry, fmt.Sprintf(format, args...)})
}

// Verify reads the whole log, as it is at one time, and checks all of it: each entry against its leaf, each chain, the tree, and each checkpoint. The
// verifier is the public key that signs now, or one that signed before. An error means that it could not read the log.
func Verify(ctx context.Context, st Store, verifier string) (*Report, error) {
	var v *verification
	err := st.Snapshot(ctx, func(st Store) error {
		v = &verification{st: st, Report: &Report{}, chains: map[ID]*chain{}}
		return v.run(ctx, verifier)
	})
	if err != nil {
		return nil, fmt.Errorf("verifying: %w", err)
	}
	return v.Report, nil
}

func (v *verification) run(ctx context.Context, verifier string) error {
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return v.readCheckpoints(ctx, verifier) },
		v.readRows, v.checkNodes, v.checkLinks, v.checkHead,
	} {
		err := step(ctx)
		switch {
		case errors.Is(err, ErrDamaged): // it could not be read for what is wrong with it
			v.find(-1, "%v", err)
		case err != nil:
			return err
		}
	}
	v.Chains = len(v.chains)
	return nil
}

// A verification is one run of Verify.
type verification struct {
	*Report
	st      Store
	pending []pinned // the checkpoints that are not reached yet
	pinned  int64    // the size of the last checkpoint that held
	chains  map[ID]*chain
	tree    Head
	nodes   []Node
	seq     int64 // the number of the next entry
	broken  bool  // the tree cannot be what it was, for a reason that was reported
}

// A pinned is what a checkpoint says the tree was.
type pinned struct {
	size int64
	root tlog.Hash
}

// A chain is the part of one that was read.
type chain struct {
	Link
	named bool
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
		v.find(v.seq, "the log ends after %d entries, and there is a checkpoint over %d: what followed was removed", v.seq, p.size)
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
	}
	switch {
	case leaf.Pos != c.Next:
		v.find(r.Seq, "it is number %d of the chain %s, after number %d", leaf.Pos, leaf.Chain, c.Next-1)
	case leaf.Prev != c.Last:
		v.find(r.Seq, "it does not follow entry number %d of the chain %s as that is now", leaf.Pos-1, leaf.Chain)
	}
	c.Next, c.Last = leaf.Pos+1, hash
	if r.Erased() {
		return
	}
	if c.named && c.Name != r.Chain {
		v.find(r.Seq, "it is called of the chain %.60q, and others of that chain are of %.60q", r.Chain, c.Name)
	}
	c.Name, c.named = r.Chain, true
}

// atCheckpoint checks the checkpoints over what was read so far.
func (v *verification) atCheckpoint() {
	for len(v.pending) > 0 && v.pending[0].size == v.seq {
		p := v.pending[0]
		v.pending = v.pending[1:]
		if v.broken {
			continue
		}
		if p.root != v.tree.Root() {
			v.find(v.pinned, "something from here up to entry %d is not what the checkpoint over %d entries was signed for", v.seq-1, p.size)
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

// checkLinks compares the ends of the chains that are kept with those of the rows.
func (v *verification) checkLinks(ctx context.Context) error {
	seen := 0
	for l, err := range v.st.Links(ctx) {
		if err != nil {
			return err
		}
		c := v.chains[l.ID]
		if c == nil {
			v.find(-1, "the chain %s is kept, and has no entries", l.ID)
			continue
		}
		seen++
		if c.Next != l.Next || c.Last != l.Last {
			v.find(-1, "the chain %s ends at number %d, and was kept as ending at number %d, or there with another entry",
				l.ID, c.Next-1, l.Next-1)
		}
		if !c.named {
			c.Name = l.ID.String()
		}
		if c.Name != l.Name {
			v.find(-1, "the chain %s is kept as %.60q, and its entries say %.60q", l.ID, l.Name, c.Name)
		}
	}
	if seen != len(v.chains) {
		v.find(-1, "%d chains have entries, and %d of them are kept", len(v.chains), seen)
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
		v.find(v.pinned, "something from here up to entry %d is not what the log's head was kept for", v.seq-1)
	}
	return nil
}

// readCheckpoints reads the checkpoints and checks who signed them.
func (v *verification) readCheckpoints(ctx context.Context, verifier string) error {
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
		v.pending = append(v.pending, pinned{said.size, said.root})
	}
	if len(all) > 0 && v.Checkpoints == 0 {
		v.find(-1, "no checkpoint is signed with the key %s", verifier)
	}
	return nil
}

// signers returns for each checkpoint the keys that have to have signed it: of two keys that a handover names, the one before
// it, the other after it, and both the handover itself. The verifier is one of all.
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
