package approve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

const (
	conductOf = "weir:conduct" // the principal of their rows

	conductLife = 100 * 365 * 24 * time.Hour

	// BreachesAStep is after how many breaches of contract a trusted server counts as known, and after how many more,
	// or a known one, as untrusted.
	BreachesAStep = 3

	maxBreachText = 400 // bytes of each text of a breach that others chose
)

// ErrNoBreach says that a server has kept its contract, as far as is known.
var ErrNoBreach = errors.New("no breach of contract of this server counts")

// A Served is a server as an operator has configured it. Nothing in it is of the server's choice, so none can lower
// another, or shed a breach by a new name.
type Served struct {
	Name    string
	Reached string         // stands for how it is reached, as in [guard.Call]
	Program string         // stands for its command in any folder; "" if it has none, such as a URL
	Place   string         // stands for its place in a configuration file; "" if it has none
	Trust   contract.Trust // the operator's
}

// bindings returns the bindings of the rows that count for a server: those of servers that are reached in the same way
// or by the same command elsewhere, and those of its own entry, which may have named another program then.
func (s *Served) bindings() []string {
	var all []string
	switch {
	case s.Program != "": // reached in the same way implies the same command
		all = append(all, bindingOf(conductPrefix, "program "+s.Program, conductOf))
	case s.Reached != "":
		all = append(all, bindingOf(conductPrefix, "reached "+s.Reached, conductOf))
	}
	if s.Place != "" {
		all = append(all, bindingOf(conductPrefix, "place "+s.Place, conductOf))
	}
	if all == nil {
		all = append(all, bindingOf(conductPrefix, "name "+s.Name, conductOf))
	}
	return all
}

// A Breach is one breach of contract of a server.
type Breach struct {
	ID      string    `json:"id"` // of the server, its tool and the occasion: it counts once
	Server  string    `json:"server"`
	Reached string    `json:"reached,omitempty"`
	Program string    `json:"program,omitempty"`
	Place   string    `json:"place,omitempty"`
	Tool    string    `json:"tool"`
	Where   string    `json:"where"`
	Why     string    `json:"why"`
	Data    bool      `json:"data,omitempty"` // whether it is about data, and not about the effects of the tool
	Changes []string  `json:"changes,omitempty"`
	At      time.Time `json:"at"`
}

// NewBreach returns a breach of a server's tool. Breaches of the same tool on the same occasion, such as an agent
// session, are one.
func NewBreach(s *Served, tool string, b guard.Breach) Breach {
	at, of := time.Now().UTC(), tool
	if b.Changes != nil {
		of, b.Occasion = "", at.Format("release 2006-01-02")
	}
	// A digest, since rows outlive sessions and are to keep no key of one.
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", s.Name, s.Reached, s.Place, of, b.Occasion))
	return Breach{
		ID: hex.EncodeToString(sum[:16]), Server: s.Name, Reached: s.Reached, Program: s.Program, Place: s.Place, Tool: cut(tool),
		Where: cut(b.Where), Why: cut(b.Reason), Data: b.Data, Changes: b.Changes, At: at,
	}
}

// of returns the server of a breach.
func (b *Breach) of() *Served {
	return &Served{Name: b.Server, Reached: b.Reached, Program: b.Program, Place: b.Place}
}

// elsewhere reports whether a breach that counts for a server is of its command in another folder, of another entry.
func (b *Breach) elsewhere(s *Served) bool {
	return b.Program != "" && b.Program == s.Program && b.Reached != s.Reached && (b.Place == "" || b.Place != s.Place)
}

func cut(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxBreachText)], "")
}

// A conductRow is the body of a row: a breach, or the word of a person that it counts no longer.
type conductRow struct {
	Breach   *Breach `json:"breach,omitempty"`
	Forgives string  `json:"forgives,omitempty"` // its ID
}

// A Conduct keeps the breaches of contract of servers, beside the approval requests: the log proves their rows too, and
// all processes that share the store see them. Breaches are only added, until a person restores the server.
type Conduct struct {
	store    store.Approvals
	record   record.Recorder
	bindings sync.Map // of each server as it is configured: [4]string to []string

	noting sync.Mutex // held from the look whether a breach was counted until it is: two listings find the same one
}

// NewConduct returns the conduct of servers in a store. The recorder gets an event of each change of trust; it may be
// nil where none is made.
func NewConduct(s store.Approvals, r record.Recorder) *Conduct { return &Conduct{store: s, record: r} }

// A conductOfOne is the rows that count for one server.
type conductOfOne struct {
	breaches []Breach        // that count, each once, the oldest first
	forgiven map[string]bool // by ID
	known    map[string]bool // by ID, with those that count no longer
	changes  map[string]bool // of all these
}

// counted reports whether a breach was counted before. One on an occasion of which a person has forgiven one is another
// one, and gets an ID of its own. A changed definition stays the same, however often it is seen.
func (o *conductOfOne) counted(b *Breach) bool {
	if b.Changes != nil && !slices.ContainsFunc(b.Changes, func(digest string) bool { return !o.changes[digest] }) {
		return true
	}
	for o.forgiven[b.ID] {
		sum := sha256.Sum256([]byte(b.ID))
		b.ID = hex.EncodeToString(sum[:16])
	}
	return o.known[b.ID]
}

// trust returns how far a server is trusted that the operator trusts so far. Claims of a known server about data do not
// count, so it has nothing to lose by those. Another folder may hold another program of the same command, so all
// breaches there are one.
func (o *conductOfOne) trust(s *Served, operator contract.Trust) contract.Trust {
	n, folders := 0, map[string]bool{}
	for i := range o.breaches {
		b := &o.breaches[i]
		switch {
		case operator != contract.Trusted && b.Data:
		case !b.elsewhere(s):
			n++
		default:
			folders[b.Reached] = true
		}
	}
	n += len(folders)
	return operator - min(operator, contract.Trust(min(n/BreachesAStep, int(contract.Trusted))))
}

// of returns the conduct of a server by all its bindings. A row that cannot be read is an error: it may be a breach.
func (c *Conduct) of(ctx context.Context, s *Served) (conductOfOne, error) {
	key := [4]string{s.Name, s.Reached, s.Program, s.Place}
	bindings, ok := c.bindings.Load(key)
	if !ok { // each call asks
		bindings, _ = c.bindings.LoadOrStore(key, s.bindings())
	}
	var rows []conductRow
	ctx = store.Together(ctx)
	for _, binding := range bindings.([]string) {
		for q, err := range c.store.Questions(ctx, store.QuestionQuery{Principal: conductOf, Binding: binding}) {
			row, err := readConduct(&q, err)
			if err != nil {
				return conductOfOne{}, err
			}
			rows = append(rows, row)
		}
	}
	if rows == nil {
		return conductOfOne{}, nil
	}
	return weighed(rows), nil
}

func readConduct(q *store.Question, err error) (row conductRow, _ error) {
	if err != nil {
		return row, fmt.Errorf("reading the conduct of servers: %w", err)
	}
	if err := json.Unmarshal(q.Body, &row); err != nil {
		return row, fmt.Errorf("reading the conduct of a server: %w", err)
	}
	return row, nil
}

// weighed returns the breaches in rows that nobody has forgiven.
func weighed(rows []conductRow) conductOfOne {
	o := conductOfOne{forgiven: map[string]bool{}, known: map[string]bool{}, changes: map[string]bool{}}
	for _, row := range rows {
		o.forgiven[row.Forgives] = true
	}
	for _, row := range rows {
		if b := row.Breach; b != nil && !o.known[b.ID] {
			for _, digest := range b.Changes {
				o.changes[digest] = true
			}
			if o.known[b.ID] = true; !o.forgiven[b.ID] {
				o.breaches = append(o.breaches, *b)
			}
		}
	}
	slices.SortStableFunc(o.breaches, func(a, b Breach) int { return a.At.Compare(b.At) })
	return o
}

// Trust returns how far a server is trusted now: as far as the operator says, or less. On an error it is untrusted.
func (c *Conduct) Trust(ctx context.Context, s *Served) (contract.Trust, error) {
	if s.Trust == contract.Untrusted {
		return s.Trust, nil
	}
	o, err := c.of(ctx, s)
	if err != nil {
		return contract.Untrusted, err
	}
	return o.trust(s, s.Trust), nil
}

// Note counts a breach of a server, and returns how far it was trusted before and is from now on. A breach that
// was counted before, or after which nothing is left to lower, changes nothing.
func (c *Conduct) Note(ctx context.Context, s *Served, b Breach) (before, after contract.Trust, err error) {
	if s.Trust == contract.Untrusted {
		return s.Trust, s.Trust, nil
	}
	c.noting.Lock()
	defer c.noting.Unlock()
	o, err := c.of(ctx, s)
	if err != nil {
		return contract.Untrusted, contract.Untrusted, err
	}
	if before = o.trust(s, s.Trust); o.counted(&b) || before == contract.Untrusted || s.Trust == contract.Known && b.Data {
		return before, before, nil
	}
	if err := c.keep(ctx, s, conductRow{Breach: &b}); err != nil {
		return contract.Untrusted, contract.Untrusted, err
	}
	if o, err = c.of(ctx, s); err != nil { // other processes may have counted some meanwhile
		return contract.Untrusted, contract.Untrusted, err
	}
	if after = o.trust(s, s.Trust); after < before {
		err = c.tell(ctx, s.Name, "lowered", fmt.Sprintf("%s from now on, after %d breaches of its contract; the last: %s %s: %s",
			after, len(o.breaches), b.Tool, b.Where, b.Why), "")
	}
	return before, after, err
}

// Reviewed has breaches by changed definitions count no longer, once a person has accepted these as they were changed,
// by their digests. It forgives those of this entry and place alone: pins of others are no word about this server.
func (c *Conduct) Reviewed(ctx context.Context, s *Served, digests map[string]bool) error {
	if s.Trust == contract.Untrusted || len(digests) == 0 {
		return nil
	}
	o, err := c.of(ctx, s)
	if err != nil {
		return err
	}
	accepted := func(b Breach) bool {
		return b.Changes != nil && b.Reached == s.Reached && b.Place == s.Place && b.Server == s.Name &&
			!slices.ContainsFunc(b.Changes, func(digest string) bool { return !digests[digest] })
	}
	of := Standing{Servers: []string{s.Name}, Breaches: slices.DeleteFunc(o.breaches, func(b Breach) bool { return !accepted(b) })}
	if len(of.Breaches) == 0 {
		return nil
	}
	_, err = c.Restore(ctx, of, "a person has accepted the definitions", "weir", "review")
	return err
}

// keep keeps a row under each binding of a server.
func (c *Conduct) keep(ctx context.Context, s *Served, row conductRow) error {
	body, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("writing the conduct of a server: %w", err)
	}
	for _, binding := range s.bindings() {
		q := store.Question{Principal: conductOf, Binding: binding, Body: body}
		if err := (&marks{store: c.store}).keep(ctx, q, conductLife); err != nil {
			return fmt.Errorf("keeping the conduct of a server: %w", err)
		}
	}
	return nil
}

// tell records a change of the trust in a server.
func (c *Conduct) tell(ctx context.Context, server, effect, message, where string) error {
	e := record.New(record.Trust, time.Now())
	e.Server, e.Effect, e.Message, e.Where = server, effect, message, where
	if err := c.record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording the trust in a server: %w", err)
	}
	return nil
}

// A Standing is the breaches that count of one server: of all entries of configurations that are reached in the same
// way, or had the same place.
type Standing struct {
	Servers  []string `json:"servers"` // its names
	Counts   string   `json:"trust"`   // how far it is trusted if the operator trusts it
	Breaches []Breach `json:"breaches"`
}

// Lowered reports whether the server is trusted less than the operator says.
func (s *Standing) Lowered() bool { return s.Counts != contract.Trusted.String() }

// All returns the servers with breaches that count, by name.
func (c *Conduct) All(ctx context.Context) ([]Standing, error) {
	var rows []conductRow
	for q, err := range c.store.Questions(ctx, store.QuestionQuery{Principal: conductOf}) {
		row, err := readConduct(&q, err)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	var all []Standing
	for left := weighed(rows).breaches; len(left) > 0; {
		var one []Breach
		one, left = related(left)
		all = append(all, standing(one))
	}
	slices.SortFunc(all, func(a, b Standing) int { return slices.Compare(a.Servers, b.Servers) })
	return all, nil
}

// related returns the first breach with all of the same server, and those of others.
func related(all []Breach) (one, others []Breach) {
	one, others = all[:1:1], all[1:]
	for n := 0; n < len(one); n++ {
		var left []Breach
		for _, b := range others {
			if slices.ContainsFunc(b.of().bindings(), func(s string) bool { return slices.Contains(one[n].of().bindings(), s) }) {
				one = append(one, b)
			} else {
				left = append(left, b)
			}
		}
		others = left
	}
	slices.SortStableFunc(one, func(a, b Breach) int { return a.At.Compare(b.At) })
	return one, others
}

// standing returns the standing of a server by its breaches: the worst of its entries, each of which counts those that
// it shares a binding with.
func standing(breaches []Breach) Standing {
	s, least := Standing{Breaches: breaches}, contract.Trusted
	for i := range breaches {
		of := breaches[i].of()
		own := of.bindings()
		o := conductOfOne{breaches: slices.DeleteFunc(slices.Clone(breaches), func(b Breach) bool {
			return !slices.ContainsFunc(b.of().bindings(), func(s string) bool { return slices.Contains(own, s) })
		})}
		least = min(least, o.trust(of, contract.Trusted))
		if name := breaches[i].Server; !slices.Contains(s.Servers, name) {
			s.Servers = append(s.Servers, name)
		}
	}
	s.Counts = least.String()
	slices.Sort(s.Servers)
	return s
}

// Restore has the breaches of a standing count no longer, by the word of a person who has seen them. It is recorded
// first. Why, by and via are required. It returns how many there were.
func (c *Conduct) Restore(ctx context.Context, of Standing, why, by, via string) (int, error) {
	switch {
	case why == "" || by == "" || via == "":
		return 0, errors.New("restoring the trust in a server: who does so, and why?")
	case len(of.Breaches) == 0:
		return 0, ErrNoBreach
	}
	message := fmt.Sprintf("%d breaches of its contract count no longer: %s", len(of.Breaches), why)
	if err := c.tell(ctx, strings.Join(of.Servers, ", "), "restored", message, by+", "+via); err != nil {
		return 0, err
	}
	for i := range of.Breaches {
		b := &of.Breaches[i]
		if err := c.keep(ctx, b.of(), conductRow{Forgives: b.ID}); err != nil {
			return i, err
		}
	}
	return len(of.Breaches), nil
}
