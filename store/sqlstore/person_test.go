package sqlstore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/feed"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func TestOnePersonsDataSQLite(t *testing.T) {
	path := file(t)
	db := open(t, path, nil)
	testOnePersonsData(t, db)
	for _, name := range []string{path, path + "-wal"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("alice")) {
			t.Errorf("%s still has her name", name)
		}
	}
}

func TestOnePersonsDataPostgres(t *testing.T) {
	c := startCluster(t)
	testOnePersonsData(t, open(t, c.fresh(t), nil))
}

// A people is a log with the data of several persons.
type people struct {
	*testing.T
	db     *sqlstore.DB
	ledger *ledger.Ledger
	key    *audit.Key
	start  time.Time
}

// testOnePersonsData keeps data of two persons, exports and deletes that of one, and lets old events of the other go: the
// log verifies after each step, and so do the proofs from before.
func testOnePersonsData(t *testing.T, db *sqlstore.DB) {
	key, err := audit.NewKey("example.com/weir")
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.New(t.Context(), ledger.Options{DB: db, Anchor: audit.NewAnchor(key)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := &people{t, db, l, key, time.Now().UTC().Add(-100 * 24 * time.Hour)}
	p.fill()
	proof, err := l.Log().Prove(t.Context(), 0) // of alice
	if err != nil {
		t.Fatal(err)
	}
	checkpoint := []byte(proof.Checkpoint)
	hers := p.choose(ledger.Selection{Principal: "alice"})
	if len(hers.Events) != 44 || len(hers.Contents) != 20 || len(hers.Sessions) != 2 {
		t.Errorf("hers: %s", hers.Figures(false))
	}
	if n := p.export(hers.Events); n != 44 {
		t.Errorf("%d of her events were exported", n)
	}
	p.erase(hers, "her request")
	const erased = 44 + 3 // with the entries about the removal of two sessions and a question
	p.verify(checkpoint, erased)
	if left := p.choose(ledger.Selection{Principal: "alice"}); !left.Empty() {
		t.Errorf("left: %s", left.Figures(false))
	}
	for q, err := range db.Questions(t.Context(), store.QuestionQuery{}) {
		if err != nil || q.Principal == "alice" {
			t.Error(q.Principal, err)
		}
	}
	if err := proof.Check(key.Verifier()); err != nil {
		t.Error(err)
	}
	p.retain(checkpoint, erased)
}

// fill writes events of each day, with content beside each other one.
func (p *people) fill() {
	p.Helper()
	for i := range 80 {
		who := []string{"alice", "bob"}[i%2]
		e := record.New(record.Decision, p.start.Add(time.Duration(i)*24*time.Hour))
		e.Session, e.Principal, e.Name = fmt.Sprintf("%s/%d", who, i%4), who, "send to "+who+"@example.com"
		e.Message = who + " wrote something"
		if _, _, err := p.db.Open(p.Context(), store.Ref{Key: e.Session, Principal: who}, noLimits); err != nil {
			p.Fatal(err)
		}
		body, err := json.Marshal(e)
		if err != nil {
			p.Fatal(err)
		}
		entry := audit.Entry{Time: e.Time, Chain: e.Session, Kind: string(e.Kind), Subject: e.Name, Body: body}
		if i%4 < 2 {
			entry.Aside = []byte("sealed for " + who)
		}
		if _, err := p.db.Log().Append(p.Context(), []audit.Entry{entry}); err != nil {
			p.Fatal(err)
		}
	}
	for _, who := range []string{"alice", "bob"} {
		q := store.Question{ID: "q-" + who, Principal: who, Session: who + "/0", Binding: "b", Expires: time.Now().Add(time.Hour)}
		if err := p.db.Ask(p.Context(), q); err != nil {
			p.Fatal(err)
		}
		if _, _, err := p.db.Join(p.Context(), who+"/"+map[string]string{"alice": "0", "bob": "1"}[who], label.Label{Private: true}, noLimits); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *people) choose(s ledger.Selection) *ledger.Chosen {
	p.Helper()
	c, err := p.ledger.Select(p.Context(), s)
	if err != nil {
		p.Fatal(err)
	}
	return c
}

// export returns how many of the entries can be written in each format.
func (p *people) export(seqs []int64) (n int) {
	p.Helper()
	for _, seq := range seqs {
		for row, err := range p.db.Log().Rows(p.Context(), audit.Query{From: seq, To: seq + 1}) {
			if err != nil {
				p.Fatal(err)
			}
			var e record.Event
			if err := json.Unmarshal(row.Body, &e); err != nil {
				p.Fatal(err)
			}
			for _, format := range feed.Formats() {
				write, _ := feed.Format(format)
				if line, err := write(feed.Item{Seq: seq, Event: &e, Raw: row.Body}); err != nil || !bytes.Contains(line, []byte("alice")) {
					p.Errorf("%s: %s, %v", format, line, err)
				}
			}
			n++
		}
	}
	return n
}

func (p *people) erase(c *ledger.Chosen, why string) {
	p.Helper()
	e := record.New(record.Erase, time.Now())
	e.Rule, e.Message = "principal", why
	if err := p.ledger.Erase(p.Context(), c, false, e); err != nil {
		p.Fatal(err)
	}
}

// verify wants the log to verify, so many of its entries to be erased, and the log to extend its earlier state.
func (p *people) verify(checkpoint []byte, erased int64) {
	p.Helper()
	r, err := audit.Verify(p.Context(), p.db.Log(), audit.VerifyOptions{Key: p.key.Verifier()})
	if err != nil {
		p.Fatal(err)
	}
	if !r.OK() || r.Erased != erased {
		p.Errorf("%d erased, want %d: %+v", r.Erased, erased, r.Findings)
	}
	state := (&ward{T: p.T, db: p.db}).report()
	if !state.OK() {
		p.Errorf("the state: %+v", state.Findings)
	}
	if err := audit.Extends(p.Context(), p.db.Log(), checkpoint, p.key.Verifier()); err != nil {
		p.Error(err)
	}
}

// retain prunes the store twice: the second time there is nothing to do.
func (p *people) retain(checkpoint []byte, erased int) {
	p.Helper()
	keep := ledger.Retention{Events: 60 * 24 * time.Hour, Content: 40 * 24 * time.Hour}
	due, err := p.ledger.Overdue(p.Context(), keep, time.Now())
	if err != nil {
		p.Fatal(err)
	}
	if len(due.Events.Events) == 0 || len(due.Content.Contents) == 0 {
		p.Errorf("due: %s, %s", due.Events.Figures(false), due.Content.Figures(true))
	}
	for i := range 2 {
		done, _, err := p.ledger.Prune(p.Context(), keep, time.Now())
		if err != nil {
			p.Fatal(err)
		}
		if (i == 0) != (len(done.Events.Events) == len(due.Events.Events)) || i == 1 && !done.Events.Empty() {
			p.Errorf("run %d erased %s", i, done.Events.Figures(false))
		}
		p.verify(checkpoint, int64(erased+len(due.Events.Events)))
	}
	for seq, err := range p.db.Log().Asides(p.Context(), time.Now().Add(-41*24*time.Hour)) {
		p.Errorf("content of entry %d is left, %v", seq, err)
	}
}
