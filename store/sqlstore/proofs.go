package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"maps"
	"math"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// A proof holds the rows that a chain of the log proves, and where it ended then.
type proof struct {
	link  audit.Link
	seq   int64    // the number of its last entry
	at    int64    // the time of that, if it was read
	loose bool     // the entry before the next one was not read
	rows  keptRows // removed ones too, but for values
	calls *int64   // of a session's own chain: how many it has made, as the last entry tells; nil if it does not
}

// keptRows are rows by key. Most chains have one row, which takes no map.
type keptRows struct {
	first *record.Kept
	more  map[string]record.Kept
}

func (r *keptRows) get(key string) (record.Kept, bool) {
	if r.first != nil && r.first.Key == key {
		return *r.first, true
	}
	row, ok := r.more[key]
	return row, ok
}

func (r *keptRows) set(row record.Kept) {
	_, more := r.more[row.Key]
	switch first := r.first != nil && r.first.Key == row.Key; {
	case row.Gone != "" && row.Table == record.ValueTable: // of which there are always more
		if delete(r.more, row.Key); first {
			r.first = nil
		}
	case first || r.first == nil && !more:
		r.first = &row
	case r.more == nil:
		r.more = map[string]record.Kept{row.Key: row}
	default:
		r.more[row.Key] = row
	}
}

func (r *keptRows) all() iter.Seq[record.Kept] {
	return func(yield func(record.Kept) bool) {
		if r.first != nil && !yield(*r.first) {
			return
		}
		for _, row := range r.more {
			if !yield(row) {
				return
			}
		}
	}
}

func (r *keptRows) copy() keptRows { return keptRows{r.first, maps.Clone(r.more)} }

// end returns where the chain ended, if that is known.
func (p *proof) end() *audit.Link {
	if p == nil {
		return nil
	}
	return &p.link
}

// maxProofs is how many chains are remembered.
const maxProofs = 20_000

// proofs remember chains that were read, so that a row is compared without reading its chain again. Whether one still
// ends so tells the head: to forget one costs time alone.
type proofs struct {
	mu     sync.Mutex
	chains map[string]*proof
	told   map[string]bool // the damage that was recorded
}

func (p *proofs) get(chain string) *proof {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chains[chain]
}

// put remembers a chain, unless it is known to go on. A remembered proof does not change any more.
func (p *proofs) put(chain string, now *proof) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.chains == nil || len(p.chains) >= maxProofs {
		p.chains = map[string]*proof{}
	}
	if known := p.chains[chain]; known == nil || known.link.ID != now.link.ID || known.link.Next <= now.link.Next {
		p.chains[chain] = now
	}
}

// tell reports whether nobody was told of this damage yet.
func (p *proofs) tell(damage string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	told := p.told[damage]
	if p.told == nil || len(p.told) >= maxProofs {
		p.told = map[string]bool{}
	}
	p.told[damage] = true
	return !told
}

// forget forgets a chain that is not there.
func (p *proofs) forget(chain string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.chains, chain)
}

// with returns the proof, or none, with one row more at its end.
func (p *proof) with(k *record.Kept, seq int64, link audit.Link) *proof {
	grown := &proof{link: link, seq: seq}
	if p != nil && link.Next > 1 {
		grown.rows = p.rows.copy()
	}
	grown.rows.set(*k)
	return grown
}

// A doubt is the reason why a row may not be as the log proves: as it was read, perhaps in no one state of the
// database, or as it is.
type doubt struct {
	row    record.Kept
	proved int64 // the number of the entry that proves it, or -1
	reason string
}

func (e *doubt) Error() string {
	return fmt.Sprintf("%s %.200q: %s", e.row.Table, e.row.Key, e.reason)
}

func doubtful(row *record.Kept, proved int64, reason string) error {
	return &doubt{*row, proved, reason}
}

// prove returns the proof of a chain, of which an earlier one may be known; nil if the log has no such chain. The links
// of all that it reads are checked, from the end that the head commits to. Damage is an error that wraps
// [audit.ErrDamaged]. Unless the whole chain is wanted, it reads the last entry alone of one that it does not know.
func (s *snapshot) prove(ctx context.Context, chain string, known *proof, whole bool) (*proof, error) {
	if known != nil && known.seq >= s.head.Size {
		known = nil // it was proved at a later head
	}
	link, err := s.ending(ctx, chain, known.end())
	if err != nil || link == nil {
		return nil, err
	}
	if known != nil && known.link == *link {
		return known, nil
	}
	if known != nil && known.link.ID == link.ID && known.link.Next >= link.Next {
		return nil, fmt.Errorf("%w: its chain had %d entries, and has %d", audit.ErrDamaged, known.link.Next, link.Next)
	}
	if known == nil || known.link.ID != link.ID {
		known = &proof{link: audit.Link{Name: chain, ID: link.ID}}
		if !whole {
			known.link.Next, known.loose = link.Next-1, true
		}
	}
	var added []audit.Row
	err = s.query(ctx, readEnd, func(rows *sql.Rows) error {
		r, err := scanRow(rows)
		added = append(added, r)
		return err
	}, chain, link.Next-known.link.Next)
	if err != nil {
		return nil, err
	}
	known = known.copy()
	for i := len(added) - 1; i >= 0; i-- {
		if known, err = known.follow(&added[i]); err != nil {
			return nil, err
		}
	}
	if known.link != *link {
		return nil, fmt.Errorf("%w: its chain ends at number %d, not %d, or there with another entry", audit.ErrDamaged,
			known.link.Next-1, link.Next-1)
	}
	return known, nil
}

// follow returns the proof with the next entry of the chain.
func (p *proof) follow(r *audit.Row) (*proof, error) {
	leaf, err := r.Check()
	switch {
	case err != nil:
		return nil, fmt.Errorf("entry %d: %w", r.Seq, err)
	case leaf.Chain != p.link.ID, leaf.Pos != p.link.Next, leaf.Prev != p.link.Last && !p.loose:
		return nil, fmt.Errorf("entry %d: %w: it does not follow the one before it in its chain", r.Seq, audit.ErrDamaged)
	}
	k := record.Kept{}
	if k, err = record.ParseState(r.Body); err != nil {
		return nil, fmt.Errorf("entry %d: %w: %w", r.Seq, audit.ErrDamaged, err)
	}
	p.rows.set(k)
	link := audit.Link{Name: p.link.Name, ID: leaf.Chain, Next: leaf.Pos + 1, Last: tlog.RecordHash(r.Leaf)}
	return &proof{link: link, seq: r.Seq, at: micros(r.Time), rows: p.rows}, nil
}

// A claim is rows as they were read: all of a chain.
type claim struct {
	name    *record.Kept  // the row, or where it would be
	rows    []record.Kept // those that are there
	known   *proof        // of the chain, before the head was read
	pending []record.Kept // the rows of the chain that the transaction itself has changed
}

// copy returns a proof that may be extended.
func (p *proof) copy() *proof {
	c := *p
	c.rows = p.rows.copy()
	return &c
}

// The log proves how many calls a session has made. The last entry that a transaction appends to the chain of a session
// tells the number as it is then, and so does each event of the session's row; where a call is counted and the chain
// gets no entry, the row gets an event. So the later one of the last entries of both chains tells it, and to read it
// takes no walk. The column of the row is for lists.

// manyCalls is the number of a session of which the log cannot prove it any more: more than any rule allows.
const manyCalls = math.MaxInt32

// counted returns how many calls a session has made, as the log proves at the head; nil if no entry tells, as an older
// version wrote all of them. Damage is an error that wraps [audit.ErrDamaged].
func (s *snapshot) counted(ctx context.Context, p *proofs, key string) (*int64, error) {
	name := keptSession(&store.Session{Key: key})
	rows, err := s.prove(ctx, name.Chain(), p.get(name.Chain()), false)
	if err != nil {
		return nil, err
	}
	own, err := s.last(ctx, key, p.get(key))
	if err != nil {
		return nil, err
	}
	if own != nil {
		p.put(key, own)
	}
	if rows == nil { // the session is none of the state's
		return nil, nil
	}
	row, _ := rows.rows.get(key)
	if own == nil || own.calls == nil || own.seq < rows.seq && row.Calls != nil {
		return row.Calls, nil
	}
	return own.calls, nil
}

// last returns the proof of the last entry of a chain; nil if the log has no such chain.
func (s *snapshot) last(ctx context.Context, chain string, known *proof) (*proof, error) {
	if known != nil && known.seq >= s.head.Size {
		known = nil // it was proved at a later head
	}
	link, err := s.ending(ctx, chain, known.end())
	switch {
	case err != nil || link == nil:
		return nil, err
	case known != nil && known.link == *link:
		return known, nil
	}
	var found *proof
	err = s.query(ctx, readEnd, func(rows *sql.Rows) error {
		r, err := scanRow(rows)
		if err != nil {
			return err
		}
		found, err = lastOf(&r)
		return err
	}, chain, 1)
	if err == nil && (found == nil || found.link != *link) {
		err = fmt.Errorf("%w: the last entry of the chain %.200q is missing or was changed", audit.ErrDamaged, chain)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// lastOf returns the proof of an entry if it ends its chain.
func lastOf(r *audit.Row) (*proof, error) {
	leaf, err := r.Check()
	if err != nil {
		return nil, fmt.Errorf("entry %d: %w", r.Seq, err)
	}
	p := &proof{link: audit.Link{Name: r.Chain, ID: leaf.Chain, Next: leaf.Pos + 1, Last: tlog.RecordHash(r.Leaf)}, seq: r.Seq}
	if n, ok := record.CallsOf(r.Body); ok {
		p.calls = &n
	}
	return p, nil
}

// sessional reports whether a chain can be that of a session's events.
func sessional(chain string) bool { return chain != "" && !strings.HasPrefix(chain, record.StateChain) }
