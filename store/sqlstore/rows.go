package sqlstore

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// The columns that the scan functions of this file read.
const (
	sessionColumns  = `s.key, s.parent, s.principal, s.label, s.calls, s.created, s.seen, s.height`
	taintColumns    = `resource, label, written, expires`
	questionColumns = `id, principal, session, binding, body, answer, asked, expires`
	valueColumns    = `id, principal, session, label, note, digest, size, kept`
	rowColumns      = `seq, leaf, salt, time, chain, kind, subject, outcome, body`
	leafColumns     = `seq, leaf, '', 0, '', '', '', '', ''`
)

func scanSession(rows *sql.Rows) (r store.Row, err error) {
	var text []byte
	var created, seen int64
	err = rows.Scan(&r.Key, &r.Parent, &r.Principal, &text, &r.Calls, &created, &seen, &r.Height)
	if err != nil {
		return r, err
	}
	r.Created, r.Seen = fromMicros(created), fromMicros(seen)
	if r.Label, err = parseLabel(text); err != nil {
		return r, fmt.Errorf("session %q: %w", r.Key, err)
	}
	return r, nil
}

func scanLink(rows *sql.Rows) (l audit.Link, err error) {
	var id string
	var last []byte
	if err := rows.Scan(&l.Name, &id, &l.Next, &last); err != nil {
		return l, err
	}
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != len(l.ID) || hex.EncodeToString(raw) != id || len(last) != tlog.HashSize {
		return l, fmt.Errorf("%w: the end of the chain %.60q", audit.ErrDamaged, l.Name)
	}
	copy(l.ID[:], raw)
	copy(l.Last[:], last)
	return l, nil
}

func scanTaint(rows *sql.Rows) (t store.Taint, err error) {
	var text []byte
	var written, expires int64
	if err := rows.Scan(&t.Resource, &text, &written, &expires); err != nil {
		return t, err
	}
	t.Written, t.Expires = fromMicros(written), fromMicros(expires)
	t.Label, err = parseLabel(text)
	return t, err
}

func scanQuestion(rows *sql.Rows) (q store.Question, err error) {
	var asked, expires int64
	err = rows.Scan(&q.ID, &q.Principal, &q.Session, &q.Binding, &q.Body, &q.Answer, &asked, &expires)
	q.Asked, q.Expires = fromMicros(asked), fromMicros(expires)
	return q, err
}

func scanValue(rows *sql.Rows, more ...any) (v keptValue, err error) {
	var text []byte
	var kept int64
	err = rows.Scan(append([]any{&v.ID, &v.Principal, &v.Session, &text, &v.Note, &v.digest, &v.Size, &kept}, more...)...)
	if err != nil {
		return v, err
	}
	v.Kept = fromMicros(kept)
	v.Label, err = parseLabel(text)
	return v, err
}

func scanRow(rows *sql.Rows) (r audit.Row, err error) {
	var us int64
	err = rows.Scan(&r.Seq, &r.Leaf, &r.Salt, &us, &r.Chain, &r.Kind, &r.Subject, &r.Outcome, &r.Body)
	r.Time, r.Body = fromMicros(us), unpack(r.Body, r.Chain)
	if len(r.Salt) == 0 {
		r.Salt = nil
	}
	return r, err
}

func keptSession(s *store.Session) record.Kept {
	return record.Kept{State: record.State{Table: record.SessionTable, Key: s.Key, Session: s.Key, Parent: s.Parent, Principal: s.Principal,
		Created: micros(s.Created)}, Label: s.Label}
}

// keptWithCalls returns a session with the number of its calls.
func keptWithCalls(s *store.Session) record.Kept {
	k := keptSession(s)
	k.Calls = &s.Calls
	return k
}

func keptTaint(t *store.Taint) record.Kept {
	return record.Kept{State: record.State{Table: record.TaintTable, Key: t.Resource, Created: micros(t.Written),
		Expires: micros(t.Expires)}, Label: t.Label}
}

func keptQuestion(q *store.Question) record.Kept {
	return record.Kept{State: record.State{Table: record.QuestionTable, Key: q.ID, Session: q.Session, Principal: q.Principal, Binding: q.Binding,
		Answer: string(q.Answer), Digest: saltedDigest(q.ID, q.Body), Created: micros(q.Asked), Expires: micros(q.Expires)}}
}

func keptOf(v *keptValue) record.Kept {
	return record.Kept{State: record.State{Table: record.ValueTable, Key: v.ID, Session: v.Session, Principal: v.Principal, Note: v.Note,
		Digest: v.digest, Created: micros(v.Kept)}, Label: v.Label}
}

// saltedDigest returns the digest of the body of a question or a value, salted with the ID so that it cannot be
// guessed.
func saltedDigest(id string, body []byte) string {
	sum := sha256.Sum256(append([]byte(id+"\x00"), body...))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// legible returns a row, or one that is as no other if its label could not be read.
func legible(k record.Kept, err error) (record.Kept, error) {
	if err != nil && k.Key != "" {
		k.Digest, err = "unreadable", nil
	}
	return k, err
}

// micros returns the time as it is kept; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func parseLabel(text []byte) (l label.Label, err error) {
	if string(text) == "{}" {
		return l, nil
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return label.Label{}, fmt.Errorf("reading a label: %w", err)
	}
	return l, nil
}

func formatLabel(l label.Label) (string, error) {
	b, err := json.Marshal(l)
	return string(b), err
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
