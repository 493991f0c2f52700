package approve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

const (
	exceptionsOf = "weir:exceptions" // the principal of their rows

	mostExceptions = 1000 // that count at one time
	mostAtPlace    = 64

	// MaxException is how long an exception may count.
	MaxException = 366 * 24 * time.Hour
)

// The errors of exceptions.
var (
	ErrNoException   = errors.New("no such exception counts")
	ErrNotExceptable = errors.New("this finding cannot be excepted")
)

// An Excepted is an exception of a person's, and its history.
type Excepted struct {
	guard.Exception
	Place   guard.FindingPlace `json:"place"`
	Class   string             `json:"class,omitempty"` // of the finding
	Level   string             `json:"level,omitempty"` // of the finding, if it speaks to the agent
	Entry   int64              `json:"entry"`           // of the log, in which the finding is
	By      string             `json:"by"`              // the person, as far as the channel knows
	Via     string             `json:"via"`             // the channel
	Why     string             `json:"why"`
	Made    time.Time          `json:"made"`
	Expires time.Time          `json:"expires"`
}

// AnyValue reports whether the exception is for any value at its place.
func (x *Excepted) AnyValue() bool { return x.Digest == "" }

// ExceptionOf returns the exception for a finding of an event, counted from 1. With any it is for every value at the
// place; without, for the value of the finding alone.
func ExceptionOf(e *record.Event, n int, any bool) (*Excepted, error) {
	refused := func(why string) (*Excepted, error) { return nil, fmt.Errorf("%w: %s", ErrNotExceptable, why) }
	if e.Kind != record.Decision || e.Content == nil || e.Content.Detection == nil {
		return refused("the entry is not a decision with findings")
	}
	d := e.Content.Detection
	if n < 1 || n > len(d.Findings) {
		return refused(fmt.Sprintf("the entry has %d findings", len(d.Findings)))
	}
	f := d.Findings[n-1]
	x := &Excepted{
		Exception: guard.Exception{Kind: detect.Kind(f.Kind), Path: guard.PathPattern(f.Path), Salt: e.Content.Salt, Digest: cmp.Or(f.Raw, f.Digest)},
		Place:     guard.FindingPlace{Server: e.Server, Reached: d.Reached, Method: e.Method, Name: e.Name, Phase: e.Phase},
		Class:     string(f.Class), Level: f.Level,
	}
	switch {
	case detect.Kind(f.Kind) == detect.CanaryKind:
		return refused("it is a canary")
	case f.Exception != "":
		return refused("it is excepted already")
	case d.Reached == "":
		return refused("how its server is reached is not known, so that another server could have its name")
	case f.Path == "":
		return refused("its member is not known")
	case x.Digest == "" && !any:
		return refused("events have no digest of such values, so it has to be for any value: --any-value")
	}
	if any {
		x.Digest = ""
	}
	if f.Level != "" && e.Phase == policy.OnResult.String() {
		if x.Call = e.Arguments; x.Call == "" {
			return refused("the event has no digest of the arguments of its call")
		}
	}
	if x.Digest == "" && x.Call == "" {
		x.Salt = ""
	}
	switch f.Confidence {
	case detect.High.String():
		x.Confidence = detect.High
	case detect.Medium.String():
		x.Confidence = detect.Medium
	}
	return x, nil
}

// Exceptions keep the findings of which a person has said that they are none, beside the approval requests: the log
// proves their rows too. They implement [guard.Exceptions].
type Exceptions struct {
	store  store.Approvals
	record record.Recorder
}

// NewExceptions returns the exceptions in a store. The recorder gets an event of each before it counts; it may be nil
// where none is made.
func NewExceptions(s store.Approvals, r record.Recorder) *Exceptions { return &Exceptions{s, r} }

// An exceptionRow is the body of a row: an exception, or the end of one.
type exceptionRow struct {
	Accepts *Excepted `json:"accepts,omitempty"`
	Removes string    `json:"removes,omitempty"` // its ID
}

// placeBinding returns the binding of all rows about a place.
func placeBinding(at guard.FindingPlace) string {
	return bindingOf(exceptionPrefix, fmt.Sprintf("%q %q %q %q", at.Reached, at.Method, at.Name, at.Phase), at.Server)
}

// At implements [guard.Exceptions].
func (x *Exceptions) At(ctx context.Context, at guard.FindingPlace) (out []guard.Exception, err error) {
	all, err := x.read(ctx, store.QuestionQuery{Principal: exceptionsOf, Binding: placeBinding(at)})
	for i := range all {
		if all[i].Place == at {
			out = append(out, all[i].Exception)
		}
	}
	return out, err
}

// All returns the exceptions that count now, the oldest first.
func (x *Exceptions) All(ctx context.Context) ([]Excepted, error) {
	return x.read(ctx, store.QuestionQuery{Principal: exceptionsOf})
}

// read returns the exceptions in the rows that a query selects. A row that cannot be read is an error: it may be the
// end of an exception.
func (x *Exceptions) read(ctx context.Context, q store.QuestionQuery) ([]Excepted, error) {
	var all []Excepted
	removed := map[string]bool{}
	for q, err := range x.store.Questions(ctx, q) {
		if err != nil {
			return nil, fmt.Errorf("reading the exceptions of detection: %w", err)
		}
		if q.Answer != store.Accepted || !strings.HasPrefix(q.Binding, exceptionPrefix) {
			continue
		}
		var row exceptionRow
		if err := json.Unmarshal(q.Body, &row); err != nil {
			return nil, fmt.Errorf("reading an exception of detection: %w", err)
		}
		if row.Removes != "" {
			removed[row.Removes] = true
		}
		if row.Accepts != nil && placeBinding(row.Accepts.Place) == q.Binding {
			all = append(all, *row.Accepts)
		}
	}
	return slices.DeleteFunc(all, func(e Excepted) bool { return removed[e.ID] }), nil
}

// Accept keeps an exception for so long, by the word of a person. It is recorded first. Why, By and Via are required.
func (x *Exceptions) Accept(ctx context.Context, e *Excepted, life time.Duration) error {
	switch {
	case e.Why == "" || e.By == "" || e.Via == "":
		return errors.New("excepting a finding: who does so, and why?")
	case life <= 0 || life > MaxException:
		return fmt.Errorf("an exception counts for %d days at most", MaxException/(24*time.Hour))
	case e.Kind == detect.CanaryKind || e.Kind == "" || e.Path == "" || e.Place.Reached == "":
		return ErrNotExceptable
	}
	all, err := x.All(ctx)
	if err != nil {
		return err
	}
	here := 0
	for i := range all {
		if all[i].Place == e.Place {
			here++
		}
	}
	if len(all) >= mostExceptions || here >= mostAtPlace {
		return fmt.Errorf("there are %d exceptions already, %d of them at this place: remove some first", len(all), here)
	}
	e.ID, e.Made = rand.Text(), time.Now().UTC()
	e.Expires = e.Made.Add(life)
	if err := x.record.Record(ctx, e.event("accepted", e.Why, e.By, e.Via)); err != nil {
		return fmt.Errorf("recording an exception: %w", err)
	}
	return x.keep(ctx, e, exceptionRow{Accepts: e}, life)
}

// Remove has an exception count no longer, by the word of a person. It is recorded first.
func (x *Exceptions) Remove(ctx context.Context, id, why, by, via string) (*Excepted, error) {
	all, err := x.All(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(e Excepted) bool { return e.ID == id })
	if i < 0 {
		return nil, ErrNoException
	}
	e := &all[i]
	if err := x.record.Record(ctx, e.event("removed", why, by, via)); err != nil {
		return nil, fmt.Errorf("recording the end of an exception: %w", err)
	}
	return e, x.keep(ctx, e, exceptionRow{Removes: id}, time.Until(e.Expires)+24*time.Hour) // later than the exception
}

func (x *Exceptions) keep(ctx context.Context, e *Excepted, row exceptionRow, life time.Duration) error {
	body, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("writing an exception: %w", err)
	}
	q := store.Question{Principal: exceptionsOf, Binding: placeBinding(e.Place), Body: body}
	return (&marks{store: x.store}).keep(ctx, q, life)
}

// event returns the event of an act on an exception.
func (x *Excepted) event(effect, why, by, via string) *record.Event {
	e := record.New(record.Exception, time.Now())
	e.Server, e.Method, e.Name, e.Phase = x.Place.Server, x.Place.Method, x.Place.Name, x.Place.Phase
	e.Effect, e.Rule, e.Binding, e.Message, e.Where = effect, string(x.Kind), x.ID, why, by+", "+via
	e.Arguments = x.Call
	e.Content = &record.Content{Salt: x.Salt, Detection: &record.Detection{Reached: x.Place.Reached, Findings: []record.Finding{{
		Kind: string(x.Kind), Class: label.Class(x.Class), Level: x.Level, Confidence: x.Confidence.String(), Path: x.Path, Raw: x.Digest, Exception: x.ID,
	}}}}
	return e
}
