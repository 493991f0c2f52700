package sqlstore_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// State that an older version wrote is taken over, no lower than the events of its labels say; entries that were erased before are
// named, and others that are emptied later are reported.
func testAdopted(t *testing.T, target string) {
	w := newWard(t, target)
	event := func(kind record.Kind, key, parent string, l label.Label) audit.Entry {
		e := record.New(kind, time.Now())
		e.Session, e.Parent, e.Label = key, parent, &l
		if kind == record.Taint {
			e.Session, e.Where = "", key
		}
		body, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return audit.Entry{Time: e.Time, Chain: e.Session, Kind: string(kind), Body: body}
	}
	pii := label.Label{Sensitivity: label.SetOf(label.PII)}
	_, err := w.db.Log().Append(t.Context(), []audit.Entry{
		event(record.Defect, "child", "", label.Label{}),
		event(record.Defect, "child", "", label.Label{}),
		event(record.Label, "child", "parent", label.Label{Untrusted: true}),
		event(record.Label, "parent", "", label.Label{Private: true}),
		event(record.Label, "parent", "", pii),
		event(record.Declassify, "parent", "", pii),
		event(record.Taint, "file:///a/", "", label.Label{Untrusted: true}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.Log().Erase(t.Context(), []int64{0}, func(int64) audit.Entry { return audit.Entry{Kind: "erasure"} }); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMicro()
	for _, key := range []string{"child", "parent"} { // both lowered before
		parent := map[string]string{"child": "parent"}[key]
		w.exec(`insert into session (key, parent, principal, label, calls, created, seen, height) values ($1, $2, 'alice', '{}', 0, $3, $3, 0)`, key, parent, now)
	}
	w.exec(`insert into taint (resource, label, written, expires) values ('file:///a', '{}', $1, 0)`, now)
	for id, row := range map[string][2]string{
		"q": {"b", "accepted"}, "open": {"b", ""}, "no": {"c", "declined"}, "grant": {"grant:b", "accepted"}, "end": {"end:b", "accepted"}, "unended": {"end:c", ""},
	} {
		w.exec(`insert into question (id, principal, session, binding, body, answer, asked, expires) values ($1, 'alice', 's', $2, '', $3, $4, $5)`,
			id, row[0], row[1], now, now+3_600_000_000)
	}
	if report := w.report(); report.Proved {
		t.Errorf("before it was taken over: %+v", report)
	}
	for range 2 {
		db := open(t, target, nil)
		want := map[string]label.Label{"child": {Untrusted: true}, "parent": {Untrusted: true, Private: true}}
		for key, l := range want {
			if s, err := db.Get(t.Context(), key); err != nil || !s.Label.Equal(l) {
				t.Errorf("%s: %+v, %v", key, s.Label, err)
			}
		}
		if l, err := db.Tainted(t.Context(), "file:///a", noLimits); err != nil || !l.Untrusted {
			t.Errorf("%+v, %v", l, err)
		}
	}
	for _, binding := range []string{"b", "grant:b"} {
		if ok, err := w.db.Redeem(t.Context(), binding); err != nil || ok {
			t.Errorf("%s, which nothing proves, is redeemed: %v, %v", binding, ok, err)
		}
	}
	var ids []string
	for q, err := range w.db.Questions(t.Context(), store.QuestionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, q.ID)
	}
	if len(ids) != 1 || ids[0] != "end" {
		t.Errorf("taken over: %v", ids)
	}
	if report := w.report(); !report.OK() || !report.Proved {
		t.Errorf("afterwards: %+v", report)
	}
	w.exec(`update entry set salt = '', time = 0, chain = '', kind = '', subject = '', outcome = '', body = '' where seq = 1`)
	if report := w.report(); len(report.Findings) != 1 || report.Findings[0].Entry != 1 {
		t.Errorf("an entry was emptied: %+v", report)
	}
	if _, _, err := w.db.Open(t.Context(), store.Ref{Key: "grandchild", Parent: "child", Principal: "alice"}, noLimits); err != nil {
		t.Error(err)
	}
	w.exec(`update entry set kind = 'decision', outcome = ''`) // as if the log proved nothing
	if _, err := sqlstore.Open(t.Context(), target, nil); !errors.Is(err, audit.ErrDamaged) {
		t.Errorf("a log with changed entries was taken over again: %v", err)
	}
}

func TestAdoptedSQLite(t *testing.T)   { testAdopted(t, file(t)) }
func TestAdoptedPostgres(t *testing.T) { testAdopted(t, startCluster(t).fresh(t)) }
