package sqlstore

import (
	"fmt"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

func keptSession(s *store.Session) record.Kept {
	return record.Kept{State: record.State{Table: record.SessionTable, Key: s.Key, Session: s.Key, Parent: s.Parent, Principal: s.Principal,
		Created: micros(s.Created)}, Label: s.Label}
}

func keptTaint(t *store.Taint) record.Kept {
	return record.Kept{State: record.State{Table: record.TaintTable, Key: t.Resource, Created: micros(t.Written), Expires: micros(t.Expires)}, Label: t.Label}
}

func keptQuestion(q *store.Question) record.Kept {
	return record.Kept{State: record.State{Table: record.QuestionTable, Key: q.ID, Session: q.Session, Principal: q.Principal, Binding: q.Binding,
		Answer: string(q.Answer), Digest: saltedDigest(q.ID, q.Body), Created: micros(q.Asked), Expires: micros(q.Expires)}}
}

// entry returns the entry of the log that tells of the row.
func (u *unit) entry(k *record.Kept) (audit.Entry, error) {
	body, err := k.Event(u.now())
	outcome := "kept"
	if k.Gone != "" {
		outcome = "removed"
	}
	return audit.Entry{Time: u.now(), Chain: k.Chain(), Kind: string(record.StateRow), Subject: k.Table, Outcome: outcome, Body: body}, err
}

// keep has the log tell of a row as the transaction leaves it.
func (u *unit) keep(k record.Kept) {
	entry, err := u.entry(&k)
	if err != nil && u.failed == nil {
		u.failed = err
	}
	u.journal, u.journaled = append(u.journal, entry), append(u.journaled, k)
}

// keepSessions has the log tell of the sessions whose rows changed in more than what a call counts.
func (u *unit) keepSessions(changed []*store.Row) {
	for _, r := range changed {
		k := keptSession(&r.Session)
		if before, ok := u.proven[r.Key]; !ok || !before.Same(&k) {
			u.keep(k)
		}
	}
}

// own reports that entries of others cannot be in the chains of the state.
func own(entries []audit.Entry) error {
	for i := range entries {
		if e := &entries[i]; e.Kind == string(record.StateRow) || strings.HasPrefix(e.Chain, record.StateChain) {
			return fmt.Errorf("%w: only the state has chains that begin with %q", audit.ErrInvalid, record.StateChain)
		}
	}
	return nil
}

// A proof is what the log was seen to prove: the rows of a chain, and where it ended then.
type proof struct {
	link  audit.Link
	seq   int64                  // the number of its last entry
	at    int64                  // the time of that, if it was read
	loose bool                   // the entry before the next one was not read
	rows  map[string]record.Kept // by key, removed ones too
}

// maxProofs is how many chains are remembered.
const maxProofs = 20_000

// proofs remember chains that were read, so that a row is compared without reading its chain again. Whether one still ends so tells the
// head: to forget one costs time alone.
type proofs struct {
	mu     sync.Mutex
	chains map[string]*proof
	told   map[string]bool // of what damage was recorded
}

func (p *proofs) get(chain string) *proof {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chains[chain]
}

// put remembers a chain, unless it is known to go on. What is remembered does not change any more.
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

// committed remembers what a transaction told the log of.
func (u *unit) committed() {
	for i := range u.journaled {
		k := &u.journaled[i]
		row := &u.batch.Rows[len(u.batch.Rows)-len(u.journaled)+i]
		chain := k.Chain()
		known := u.db.proofs.get(chain)
		leaf, err := audit.ParseLeaf(row.Leaf)
		if err != nil || leaf.Pos > 0 && (known == nil || known.link.ID != leaf.Chain || known.link.Next != leaf.Pos) {
			continue // the next reader looks
		}
		link := audit.Link{Name: chain, ID: leaf.Chain, Next: leaf.Pos + 1, Last: tlog.RecordHash(row.Leaf)}
		u.db.proofs.put(chain, known.with(k, row.Seq, link))
	}
}

// with returns the proof, or none, with one row more at its end.
func (p *proof) with(k *record.Kept, seq int64, link audit.Link) *proof {
	grown := &proof{link: link, seq: seq, rows: map[string]record.Kept{}}
	if p != nil && link.Next > 1 {
		for key, row := range p.rows {
			grown.rows[key] = row
		}
	}
	grown.rows[k.Key] = *k
	return grown
}

// ErrState is the kind of error of a row that is not what the log proves: a [store.ErrState].
var ErrState = hosterror.New("the state was changed by somebody else, so nothing is decided by it: see weir audit verify").Because(store.ErrState)

// damage returns the error of state that is not what the log proves, and has the log tell of it once.
func (d *DB) damage(k *record.Kept, proved int64, what string) error {
	err := fmt.Errorf("%w: %s %.200q: %s", ErrState, k.Table, k.Key, what)
	d.refusals.add(k.Chain()+" "+k.Key, err)
	if !d.proofs.tell(fmt.Sprint(k.Chain(), " ", k.Key, " ", proved, " ", what)) {
		return err
	}
	if d.opts.Damaged != nil {
		d.opts.Damaged(err)
	}
	e := record.New(record.Damage, d.clock())
	e.Session, e.Principal, e.Name, e.Where, e.Effect, e.Message = k.Session, k.Principal, k.Key, k.Table, "refused", what
	if proved >= 0 {
		e.Message += fmt.Sprintf(" (entry %d)", proved)
	}
	body, encoding := d.encoder.Encode(e)
	if encoding != nil {
		return err
	}
	entry := audit.Entry{Time: e.Time, Chain: k.Session, Kind: string(record.Damage), Subject: k.Table, Outcome: "refused", Body: body}
	d.writer.offer(&op{entries: []audit.Entry{entry}})
	return err
}

// offer takes an op that nobody waits for, if there is room for it. It may be called by who has the turn.
func (w *writer) offer(o *op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.deferred) >= maxDeferred {
		return
	}
	w.deferred = append(w.deferred, o)
	w.timer.Reset(w.db.opts.Linger)
}
