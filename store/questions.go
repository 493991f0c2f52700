package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// The kinds of errors about questions.
var (
	ErrNoQuestion       = errors.New("no such question is open")
	ErrTooManyQuestions = errors.New("too many questions are open")
)

// Bounds of questions.
const (
	MaxQuestions    = 10_000  // open at one time
	MaxQuestionBody = 1 << 20 // bytes
)

// EndPrefix begins the bindings of accepted questions by which a person has ended an agent session. Such a row only
// ever denies.
const EndPrefix = "end:"

// A Question is something that a person is asked, until it expires.
type Question struct {
	ID        string // unguessable, chosen by who asks
	Principal string // whose answer counts
	Session   string // the agent session's key
	Binding   string // the exact call to approve
	Body      []byte // for the program that shows it; opaque
	Answer    Answer
	Asked     time.Time
	Expires   time.Time // with the question, its answer
}

// An Answer is how a question stands.
type Answer string

// How a question may stand. All but Accepted mean no.
const (
	Open     Answer = ""
	Accepted Answer = "accepted"
	Declined Answer = "declined"
	Redeemed Answer = "redeemed" // it was accepted, and that was used up
)

// A QuestionQuery selects questions that have not expired. Each zero member selects all.
type QuestionQuery struct {
	ID        string
	Principal string
	Binding   string
	Open      bool
}

// Approvals keep questions and their answers, across processes and restarts. A question is answered once at most, an
// acceptance redeemed once at most, and neither after the question expired.
type Approvals interface {
	// Ask keeps a question, as an open one. The error is ErrInvalid if it has no ID, Principal or Binding, is not text,
	// or is there already; ErrTooManyQuestions if MaxQuestions are open.
	Ask(ctx context.Context, q Question) error

	// Answer keeps the answer, Accepted or Declined, and returns the question with it. The error is ErrNoQuestion if it
	// is not open, or expired; ErrPrincipal if it is another's.
	Answer(ctx context.Context, id, principal string, a Answer) (Question, error)

	// Redeem uses up one acceptance of the binding and reports whether there was one.
	Redeem(ctx context.Context, binding string) (bool, error)

	// Questions iterates over questions, the oldest first, then by ID. An error ends the iteration. The loop's body may
	// use the store.
	Questions(ctx context.Context, q QuestionQuery) iter.Seq2[Question, error]
}

// An Announcer is a store of questions that tells when one is answered, so that who waits need not ask all the time.
type Announcer interface {
	// Answered returns a channel that is closed when a question was answered, perhaps by another process, or may have
	// been. Not every answer is told of: who waits looks for itself now and then.
	Answered() <-chan struct{}
}

// Check returns an error that is [ErrInvalid] if the question is not one that a store accepts.
func (q *Question) Check() error {
	for _, f := range []text{
		{"id", q.ID, true}, {"principal", q.Principal, true}, {"binding", q.Binding, true}, {"session", q.Session, false},
	} {
		if err := f.check(); err != nil {
			return fmt.Errorf("question: %w", err)
		}
	}
	if len(q.Body) > MaxQuestionBody {
		return fmt.Errorf("question: %w: its body is longer than %d bytes", ErrInvalid, MaxQuestionBody)
	}
	return nil
}

// Check returns an error that is [ErrInvalid] unless a person can answer so.
func (a Answer) Check() error {
	if a != Accepted && a != Declined {
		return fmt.Errorf("%w: %.20q is no answer", ErrInvalid, string(a))
	}
	return nil
}
