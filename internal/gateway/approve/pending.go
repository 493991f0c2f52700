package approve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/store"
)

// Errors of answers that do not count.
var (
	ErrNoQuestion = errors.New("no such question is open")
	ErrPrincipal  = errors.New("the question is for another principal")
	ErrTooMany    = errors.New("too many questions are open")
	ErrUnseen     = errors.New("the request does not show everything: a yes needs the code at the end of its listing")
	ErrNoGrant    = errors.New("it can be accepted once only: no overlay says which arguments are its destination")
)

// An Answer is the answer of a user.
type Answer string

// The answers. All but Accepted and Granted mean no.
const (
	Accepted  Answer = "accepted"
	Granted   Answer = "granted" // for the agent session and the destination; see [guard.Question], Grant
	Declined  Answer = "declined"
	Ended     Answer = "ended"     // declined, and the agent session may do nothing more
	Cancelled Answer = "cancelled" // dismissed without a choice, or the asking failed
	Expired   Answer = "expired"
)

// Yes reports whether the answer allows the call.
func (a Answer) Yes() bool { return a == Accepted || a == Granted }

// A Pending is an open question.
type Pending struct {
	ID        string // unguessable
	Principal string // whose answer counts
	Session   string // key of the agent session
	Binding   string
	Asked     time.Time
	Expires   time.Time
	Body

	Question *guard.Question // nil if another process asked
	Held     *Held           // the server's answer that the question is about; nil before the call

	put    time.Time // when a call last asked it in this process; the book's lock guards it
	closed bool      // whether it was answered in this process; the book's lock guards it
}

// A Held is an answer of a server that waits for a person. The admission accepts it; if it is allowed as a whole, and
// the person is asked about a question in it, it has its outcome.
type Held struct {
	Admission *guard.Admission
	Answer    guard.Answer
	Outcome   *guard.Outcome
}

// A Body is the part of a question in the store, for the channels that show it.
type Body struct {
	Prompt           approval.Prompt `json:"prompt"`
	approval.Listing                 // the parts that the prompt leaves out; only a local user sees it
	Server           string          `json:"server"`
	Method           string          `json:"method"`
	Name             string          `json:"name"` // as the server wrote it: hostile to whoever prints it
	Phase            string          `json:"phase"`
	Rule             string          `json:"rule"`
	Message          string          `json:"message"`
	Parent           string          `json:"parent,omitempty"` // key of the session that the session descends from
	Grant            string          `json:"grant,omitempty"`  // set if it may be accepted for the session and the destination
}

// size returns the bytes of the answer that waits with the question.
func (p *Pending) size() int {
	if p.Held == nil {
		return 0
	}
	size := len(p.Held.Answer.Raw())
	if p.Held.Outcome != nil {
		size += len(p.Held.Outcome.Answer.Result)
	}
	return size
}

// mapped returns the error of a store in this package's words.
func mapped(err error) error {
	switch {
	case errors.Is(err, store.ErrNoQuestion):
		return ErrNoQuestion
	case errors.Is(err, store.ErrPrincipal):
		return ErrPrincipal
	case errors.Is(err, store.ErrTooManyQuestions):
		return ErrTooMany
	}
	return err
}

// A Reply is a person's answer, and how it came.
type Reply struct {
	ID        string // of the question
	Principal string // who answers
	Answer    Answer // a word that nobody knows is no
	Via       string // the channel, as the record names it: "host", "command line", "console", "webhook"
	Code      string // of the listing, for a yes to a request whose prompt leaves something out
	By        string // the person, as far as the channel knows: as untrusted as that is
	Why       string // for Ended: the reason that the record keeps; "" for the question's own
}

// confirmed reports whether an answer may be a yes: the prompt shows everything, or the code comes from the end of the
// listing.
func (p *Pending) confirmed(code string) bool {
	return p.Prompt.Unseen == "" || p.Code != "" && strings.EqualFold(strings.TrimSpace(code), p.Code)
}

// said returns the answer that counts; "" if the question is open.
func said(ctx context.Context, s store.Approvals, id string) (Answer, error) {
	for q, err := range s.Questions(ctx, store.QuestionQuery{ID: id}) {
		switch {
		case err != nil:
			return "", fmt.Errorf("reading a question: %w", err)
		case q.Answer == store.Open:
			return "", nil
		case q.Answer == store.Declined:
			return Declined, nil
		}
		return Accepted, nil
	}
	return "", ErrNoQuestion
}

// shortID is as much of the id of a request as people have to type.
const shortID = 4

// Command returns the command by which a person approves the request with an id.
func Command(id string) string { return "weir approve " + id[:min(len(id), shortID)] }
