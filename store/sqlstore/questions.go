package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

const (
	countQuestions = `select count(*) from question where answer = '' and expires > $1`
	findQuestion   = `select ` + questionColumns + ` from question where id = $1`
	boundQuestions = `select ` + questionColumns + ` from question where binding = $1 order by id`
	writeQuestion  = `insert into question (` + questionColumns + `) values ($1, $2, $3, $4, $5, $6, $7, $8)`
	answerQuestion = `update question set answer = $1 where id = $2 and answer = '' and expires > $3`
	redeemQuestion = `update question set answer = 'redeemed' where id = $1 and answer = 'accepted' and expires > $2`
	listQuestions  = `select ` + questionColumns + ` from question
where expires > $1 and ($2 = '' or id = $2) and ($3 = '' or principal = $3) and ($4 = 0 or answer = '')
	and (asked > $5 or (asked = $5 and id > $6)) order by asked, id limit 200`
)

// approvals implement [store.Approvals] and [store.Announcer].
type approvals struct {
	*writer
	listener listener
}

func newApprovals(w *writer, target string) *approvals {
	return &approvals{writer: w, listener: listener{target: target, listen: w.dialect.listen}}
}

// Ask implements [store.Approvals].
func (d *approvals) Ask(ctx context.Context, q store.Question) error {
	if err := cmp.Or(ctx.Err(), q.Check()); err != nil {
		return err
	}
	return d.do(ctx, &op{run: func(ctx context.Context, u *unit) error {
		_, known, err := questionOf(ctx, u, q.ID)
		if err != nil {
			return err
		}
		if known {
			return fmt.Errorf("asking: %w: there is a question with this id", store.ErrInvalid)
		}
		var open int
		now := micros(u.lately())
		if err := u.read(ctx, countQuestions, func(rows *sql.Rows) error { return rows.Scan(&open) }, now); err != nil {
			return err
		}
		if open >= store.MaxQuestions {
			return store.ErrTooManyQuestions
		}
		q.Answer, q.Asked, q.Expires = store.Open, fromMicros(now), fromMicros(micros(q.Expires))
		_, err = u.change(ctx, writeQuestion, q.ID, q.Principal, q.Session, q.Binding, notNil(q.Body), "", now, micros(q.Expires))
		u.keep(keptQuestion(&q))
		return err
	}})
}

// questionOf reads one question.
func questionOf(ctx context.Context, u *unit, id string) (q store.Question, ok bool, err error) {
	err = u.read(ctx, findQuestion, func(rows *sql.Rows) (err error) {
		q, err = scanQuestion(rows)
		ok = true
		return err
	}, id)
	return q, ok, err
}

// Answer implements [store.Approvals].
func (d *approvals) Answer(ctx context.Context, id, principal string, a store.Answer) (answered store.Question, err error) {
	if err := cmp.Or(ctx.Err(), a.Check()); err != nil {
		return store.Question{}, err
	}
	err = d.do(ctx, &op{run: func(ctx context.Context, u *unit) error {
		q, ok, err := questionOf(ctx, u, id)
		switch {
		case err != nil:
			return err
		case !ok, q.Answer != store.Open, !u.lately().Before(q.Expires):
			return store.ErrNoQuestion
		case q.Principal != principal:
			return fmt.Errorf("answering: %w", store.ErrPrincipal)
		}
		if _, err := bound(ctx, u, q.Binding); err != nil {
			return err
		}
		q.Answer = a
		answered = q
		u.keep(keptQuestion(&q))
		if _, err := u.change(ctx, answerQuestion, string(a), id, micros(u.lately())); err != nil || d.dialect.tell == "" {
			return err
		}
		return u.read(ctx, d.dialect.tell, func(*sql.Rows) error { return nil })
	}})
	if err != nil {
		return store.Question{}, err
	}
	d.listener.bell.Ring()
	return answered, nil
}

// Answered implements [store.Announcer].
func (d *approvals) Answered() <-chan struct{} {
	d.listener.start()
	return d.listener.bell.Next()
}

// Redeem implements [store.Approvals]. It writes only if there is an acceptance to use up.
func (d *approvals) Redeem(ctx context.Context, binding string) (redeemed bool, err error) {
	all, err := d.boundNow(ctx, binding)
	if err != nil || !slices.ContainsFunc(all, d.redeemable) {
		return false, err
	}
	err = d.do(ctx, &op{run: func(ctx context.Context, u *unit) error {
		all, err := bound(ctx, u, binding)
		redeemed = false
		if err != nil {
			return err
		}
		for i := range all {
			q := &all[i]
			if q.Answer != store.Accepted || !u.lately().Before(q.Expires) {
				continue
			}
			q.Answer = store.Redeemed
			n, err := u.change(ctx, redeemQuestion, q.ID, micros(u.lately()))
			if redeemed = n == 1; redeemed {
				u.keep(keptQuestion(q))
			}
			return err
		}
		return nil
	}})
	return redeemed && err == nil, err
}

// redeemable reports whether a question was accepted, and the acceptance not used up.
func (d *approvals) redeemable(q store.Question) bool {
	return q.Answer == store.Accepted && d.lately().Before(q.Expires)
}

// Questions implements [store.Approvals].
func (d *approvals) Questions(ctx context.Context, q store.QuestionQuery) iter.Seq2[store.Question, error] {
	return pages(ctx, pageSize, placeOfQuestion{asked: -1 << 62}, func(at placeOfQuestion) (page []store.Question, end placeOfQuestion, err error) {
		if q.Binding != "" {
			all, err := d.boundNow(ctx, q.Binding)
			page, end = pageOf(all, q, at, d.lately())
			return page, end, err
		}
		err = d.proven(ctx, nil, func(s *snapshot) (err error) {
			page, end, err = d.questionsAt(ctx, s, q, at)
			return err
		})
		return page, end, err
	})
}

// boundNow returns the questions with a binding, which are as the log proves. None is missing, but for expired ones.
func (d *approvals) boundNow(ctx context.Context, binding string) ([]store.Question, error) {
	var all []store.Question
	var head *headRow
	var known, none, list bool
	at, err := d.recall(ctx, func(m *recent) {
		if all, known = m.questions.Get(binding); known {
			return
		}
		head, none, list = m.head, m.lacks(binding), m.listsBindings()
		m.misses++
	})
	if err != nil || known {
		return all, err
	}
	err = d.proven(ctx, head, func(s *snapshot) (err error) {
		if none { // as of this head; what the log proves is read if it proves any
			none = false
			return d.settled(ctx, s, claim{name: boundTo(binding), known: d.proofs.get(boundTo(binding).Chain())})
		}
		if all, err = d.boundAt(ctx, s, binding); err == nil {
			head = &s.headRow
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var bindings map[string]bool
	if list {
		bindings = d.bindings(ctx)
	}
	d.remember(at, func(m *recent) {
		if m.head = head; len(all) <= maxAround {
			m.questions.Set(binding, all)
		}
		if bindings != nil {
			m.keepBindings(bindings)
		}
	})
	return all, nil
}

// listBindings lists one more binding than are remembered.
var listBindings = fmt.Sprintf(`select distinct binding from question limit %d`, maxBindings+1)

// bindings returns the bindings of all questions, as far as [listBindings] lists them; nil if it cannot now.
func (d *approvals) bindings(ctx context.Context) map[string]bool {
	all := map[string]bool{}
	err := d.reads.query(ctx, listBindings, func(rows *sql.Rows) error {
		var binding string
		err := rows.Scan(&binding)
		all[binding] = true
		return err
	})
	if err != nil {
		return nil // they spare a read, and decide nothing
	}
	return all
}

type placeOfQuestion struct {
	asked int64
	id    string
}

func (p placeOfQuestion) compare(o placeOfQuestion) int {
	return cmp.Or(cmp.Compare(p.asked, o.asked), cmp.Compare(p.id, o.id))
}

// pageOf returns those of the questions with one binding that a query selects, after a place.
func pageOf(proved []store.Question, q store.QuestionQuery, at placeOfQuestion, now time.Time) (
	page []store.Question, end placeOfQuestion) {
	place := func(q store.Question) placeOfQuestion { return placeOfQuestion{micros(q.Asked), q.ID} }
	for _, found := range proved {
		if found.Expires.After(now) && (q.ID == "" || q.ID == found.ID) && (q.Principal == "" || q.Principal == found.Principal) &&
			(!q.Open || found.Answer == store.Open) && place(found).compare(at) > 0 {
			page = append(page, found)
		}
	}
	slices.SortFunc(page, func(a, b store.Question) int { return place(a).compare(place(b)) })
	if len(page) == 0 {
		return nil, at
	}
	page = page[:min(len(page), pageSize)]
	return page, place(page[len(page)-1])
}

// questionsAt returns questions after a place, which are as the log proves.
func (d *approvals) questionsAt(ctx context.Context, s *snapshot, q store.QuestionQuery, at placeOfQuestion) (
	page []store.Question, end placeOfQuestion, err error) {
	proved := map[string]store.Question{}
	open := 0
	if q.Open {
		open = 1
	}
	end = at
	bindings := map[string]bool{}
	err = s.query(ctx, listQuestions, func(rows *sql.Rows) error {
		found, err := scanQuestion(rows)
		end, bindings[found.Binding] = placeOfQuestion{micros(found.Asked), found.ID}, true
		page = append(page, found)
		return err
	}, micros(d.lately()), q.ID, q.Principal, open, at.asked, at.id)
	for binding := range bindings {
		if err != nil {
			break
		}
		var all []store.Question
		all, err = d.boundAt(ctx, s, binding)
		for _, found := range all {
			proved[found.ID] = found
		}
	}
	for i := range page {
		a, b := keptQuestion(&page[i]), keptQuestion(new(proved[page[i].ID]))
		if err == nil && !a.Same(&b) {
			err = doubtful(&a, -1, "it is read in two ways")
		}
	}
	return page, end, err
}

// boundAt returns the questions with a binding at a head, which are as the log proves.
func (d *approvals) boundAt(ctx context.Context, s *snapshot, binding string) ([]store.Question, error) {
	known := d.proofs.get(boundTo(binding).Chain())
	all, rows, err := boundRows(ctx, s.statements, binding)
	if err != nil {
		return nil, err
	}
	return all, d.settled(ctx, s, claim{name: boundTo(binding), rows: rows, known: known})
}

// bound returns the questions with a binding, which are as the log proves: all of them, expired ones perhaps not.
func bound(ctx context.Context, u *unit, binding string) ([]store.Question, error) {
	all, rows, err := boundRows(ctx, u.statements, binding)
	if err == nil {
		err = u.settled(ctx, boundTo(binding), rows)
	}
	if !errors.Is(err, store.ErrState) {
		_ = u.fail(err)
	}
	return all, err
}

func boundTo(binding string) *record.Kept {
	k := keptQuestion(&store.Question{Binding: binding})
	k.Key = "of " + binding
	return &k
}

// boundRows reads the questions with a binding.
func boundRows(ctx context.Context, s *statements, binding string) (all []store.Question, rows []record.Kept, err error) {
	err = s.query(ctx, boundQuestions, func(r *sql.Rows) error {
		q, err := scanQuestion(r)
		all, rows = append(all, q), append(rows, keptQuestion(&q))
		return err
	}, binding)
	return all, rows, err
}

const (
	askedBindings = `select distinct binding from question where principal = $1`
	askerBindings = `select distinct binding from question where session in %s`
	forgetAsked   = `delete from question where principal = $1 returning ` + questionColumns
	forgetAskers  = `delete from question where session in %s returning ` + questionColumns
)

// ForgetQuestions removes the questions of the principal, if it is not "", and of the sessions, with any answer, and
// returns how many there were. All of them have to be as the log proves: else the error is [ErrState], and none is
// removed.
func (d *approvals) ForgetQuestions(ctx context.Context, principal string, sessions []string) (removed int64, err error) {
	err = d.do(ctx, &op{alone: true, run: func(ctx context.Context, u *unit) (err error) {
		removed = 0
		if err := soundQuestions(ctx, u, principal, sessions); err != nil {
			return err
		}
		forget := func(rows *sql.Rows) error {
			q, err := scanQuestion(rows)
			k := keptQuestion(&q)
			u.keep(k.Left("erased"))
			u.wrote = true
			removed++
			return err
		}
		if err := u.fail(among(ctx, u.statements, forgetAskers, sessions, forget)); err != nil || principal == "" {
			return err
		}
		return u.read(ctx, forgetAsked, forget, principal)
	}})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// soundQuestions returns the damage of questions of the principal, if it is not "", or of the sessions.
func soundQuestions(ctx context.Context, u *unit, principal string, sessions []string) error {
	var bindings []string
	add := func(rows *sql.Rows) error {
		var binding string
		err := rows.Scan(&binding)
		bindings = append(bindings, binding)
		return err
	}
	err := u.fail(among(ctx, u.statements, askerBindings, sessions, add))
	if err == nil && principal != "" {
		err = u.read(ctx, askedBindings, add, principal)
	}
	for i := 0; i < len(bindings) && err == nil; i++ {
		_, err = bound(ctx, u, bindings[i])
	}
	return err
}

// A listener hears of answers. Those of its own process ring its bell; once a caller has waited, those of others do
// too, if the database server tells.
type listener struct {
	bell   store.Bell
	target string
	listen func(ctx context.Context, target string, ring func()) error // until an error; nil if the database tells nothing

	mu    sync.Mutex
	end   context.CancelFunc // nil until a caller waits
	ended chan struct{}
}

// listenPause is how long a listener waits that has lost its connection.
const listenPause = time.Second

// start begins to listen, unless that was begun.
func (l *listener) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listen == nil || l.ended != nil {
		return
	}
	ctx, end := context.WithCancel(context.Background())
	l.end, l.ended = end, make(chan struct{})
	go l.run(ctx)
}

// run listens until ctx ends. Callers look anew whenever it begins to listen: it did not hear earlier answers.
func (l *listener) run(ctx context.Context) {
	defer close(l.ended)
	for ctx.Err() == nil {
		_ = l.listen(ctx, l.target, l.bell.Ring) // callers also look by themselves, and get the error there
		select {
		case <-ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

// close ends the listener, and waits for that. It does not start again.
func (l *listener) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.ended = make(chan struct{})
		close(l.ended)
	}
	if l.end != nil {
		l.end()
	}
	<-l.ended
}
