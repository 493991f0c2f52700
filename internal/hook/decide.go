package hook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// A Decider decides on events. It is not safe for concurrent use.
type Decider struct {
	Guard         *guard.Guard
	Files         Ground             // nil: of no command is known what it does
	Overlay       *overlay.Overlay   // of the tools of the host
	Questions     *approve.Book      // for hosts that put no question to their users
	Conversations *conversation.Book // which agent session counts in a conversation
	Begun         *conversation.Book // conversations whose beginning was seen
	Entries       []string           // names of the host's entries that run Weir
	Key           func(kind, id string) string
	Principal     string
	Opens         bool // a project may put any file into the conversation, with no tool and no hook
	NoHost        bool // no answers of hosts count
	Now           func() time.Time
}

// Decides reports whether the event is one for the guard: about a call that does not go to one of the entries that run Weir.
// One that another event tells more of is for that other one.
func (e *Event) Decides(entries []string) bool {
	return e.Name != SessionStart && !e.elsewhere() && !e.behind(entries)
}

// Decide answers an event. An error is no answer: the call must not go.
func (d *Decider) Decide(ctx context.Context, e *Event) (Answer, error) {
	if e.Name == SessionStart {
		return d.start(e)
	}
	if !e.Decides(d.Entries) {
		return Answer{Effect: Pass}, nil
	}
	c, err := d.call(ctx, e)
	if err != nil {
		return Answer{}, err
	}
	ref := c.Session
	if err := c.HoldBy(ctx, func(ctx context.Context) (string, error) {
		return approve.HeldSession(ctx, d.Questions, ref, conversation.KeyOf(ref.Key) == ref.Key)
	}); err != nil {
		return Answer{}, err
	}
	if e.Name == PreToolUse {
		return d.before(ctx, e, c)
	}
	return d.after(ctx, e, c)
}

// Keys returns the key of the conversation of an event, in its first generation, by a function that makes keys, and the
// key by which its beginning is noted. They differ where the servers of a host know no id of a conversation: then all
// conversations in a folder are one, or all of the host.
func (e *Event) Keys(key func(kind, id string) string) (conversation, beginning string, err error) {
	switch {
	case e.Host.Kind != "":
		conversation = key(e.Host.Kind, e.Session)
		return conversation, conversation, nil
	case e.Host.shared != "":
		return key("named", e.Host.shared), key(e.Host.ID, e.Session), nil
	}
	folder, err := filepath.EvalSymlinks(e.Folder)
	if err != nil {
		return "", "", fmt.Errorf("finding the folder of the conversation: %w", err)
	}
	return key("folder", folder), key(e.Host.ID, e.Session), nil
}

// start notes that the beginning of a conversation was seen.
func (d *Decider) start(e *Event) (Answer, error) {
	key, beginning, err := e.Keys(d.Key)
	if err != nil {
		return Answer{}, err
	}
	about := conversation.Note{Host: e.Host.ID, Folder: e.Folder, Began: d.Now().UTC()}
	_, known, err := d.Begun.Find(beginning)
	if err != nil || known || e.Source == again {
		return Answer{Effect: Pass}, err
	}
	if d.Opens {
		return Answer{Effect: Pass, Notice: "settings or texts of this project may put files into the conversation that weir does not see, so it counts " +
			"as one that holds private data and untrusted content; see weir doctor"}, nil
	}
	note, _, err := d.Conversations.Find(key)
	if err != nil {
		return Answer{}, err
	}
	isNew, err := e.isNew()
	if err == nil && isNew {
		_, err = d.Begun.Enter(within(beginning, note), about)
		if err == nil && within(beginning, note) != beginning {
			_, err = d.Begun.Enter(beginning, about) // in no later generation it begins again
		}
	}
	if err != nil || isNew || key == beginning && note.Generation != "" {
		return Answer{Effect: Pass}, err
	}
	notice := "weir did not see this conversation begin, so it counts as one that holds private data and untrusted content; begin a new one"
	if key == beginning {
		notice += ", or, if there is nothing of that kind in it: weir session new '" + key + "'"
	}
	return Answer{Effect: Pass, Notice: notice}, nil
}

// within returns the key by which it is noted that a conversation began in a generation of its agent session.
func within(beginning string, note conversation.Note) string {
	return conversation.Note{Key: beginning, Generation: note.Generation}.Session()
}

// isNew reports whether the conversation begins: its host says so, and its file has no answer of the model yet.
func (e *Event) isNew() (bool, error) {
	if e.Host.form.source != "" && !slices.Contains(e.Host.begins, e.Source) {
		return false, nil
	}
	if e.Transcript == "" {
		return e.Host.form.source != "" || e.Host.form.fresh, nil
	}
	f, err := os.Open(e.Transcript)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the file of the conversation: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTranscript+1))
	if err != nil {
		return false, fmt.Errorf("reading the file of the conversation: %w", err)
	}
	return len(text) <= maxTranscript && !bytes.Contains(text, []byte(e.Host.answered)), nil
}

// maxTranscript is how large the file of a conversation may be that begins, in bytes.
const maxTranscript = 1 << 20

// call describes the event to the guard.
func (d *Decider) call(ctx context.Context, e *Event) (*guard.Call, error) {
	key, beginning, err := e.Keys(d.Key)
	if err != nil {
		return nil, err
	}
	note, err := d.Conversations.Enter(key, conversation.Note{Host: e.Host.ID, Folder: e.Folder, Began: d.Now().UTC()})
	if err != nil {
		return nil, err
	}
	args, err := e.completed(ctx, d.Files)
	if err != nil {
		return nil, fmt.Errorf("reading the arguments: %w", err)
	}
	params, err := json.Marshal(map[string]json.RawMessage{"name": rawjson.Quote(e.Tool), "arguments": args})
	if err != nil {
		return nil, fmt.Errorf("reading the arguments: %w", err)
	}
	c := &guard.Call{
		ID: e.id(), Session: session.Ref{Key: note.Session(), Principal: d.Principal}, Server: Server, Host: true, Trust: contract.Untrusted,
		Method: "tools/call", Name: e.Tool, Params: params, Arguments: args,
		Overlay: d.Overlay.Tool(e.Tool), Violates: e.strange(d.Files),
	}
	c.Effective = c.Overlay.Effective(c.Declared, c.Trust)
	if _, own := e.Host.tools[e.Tool]; own && e.Server == "" { // anyone may name a server like another
		c.Reached = Server + ":" + e.Host.ID
	}
	if e.Name == PostToolUse || e.Name == PostFailure {
		c.Context = e.mayTell(args)
	}
	c.Context = label.Join(c.Context, below(ctx, e, d.Files, args))
	if e.Unread != "" {
		c.Context = unknown()
	}
	if note.Generation == "" || key != beginning { // else the user has said so of this very conversation
		_, seen, err := d.Begun.Find(within(beginning, note))
		if err != nil {
			return nil, err
		}
		if !seen {
			c.Context = unknown()
		}
	}
	if d.Opens {
		c.Context = unknown()
	}
	return c, nil
}

// unknown returns the label of a conversation of which nothing is known.
func unknown() label.Label {
	return label.Label{
		Untrusted: true, Private: true, Sources: label.SetOf(label.UntrustedPublic), Sensitivity: label.SetOf(label.Credentials, label.Unspecified),
	}.Normal()
}

// id names the call in events, before and after it.
func (e *Event) id() string {
	call := e.Call
	if call == "" {
		call = e.Tool + "\x00" + string(e.Input)
	}
	sum := sha256.Sum256([]byte(e.Host.ID + "\x00" + e.Session + "\x00" + call))
	return "hook-" + hex.EncodeToString(sum[:13])
}

// before decides whether a call may happen.
func (d *Decider) before(ctx context.Context, e *Event, c *guard.Call) (Answer, error) {
	v := d.Guard.Before(ctx, c)
	if v.Allowed() {
		if err := v.Admission.Failed(ctx); err != nil { // its answer may never come
			return Answer{}, err
		}
	}
	switch {
	case v.Effect == policy.Warn:
		return Answer{Effect: Pass, Notice: "weir: " + shown(v.Message, v.Rule)}, nil
	case v.Allowed():
		return Answer{Effect: Pass}, nil
	case v.Err != nil:
		return Answer{}, v.Err
	case v.Effect != policy.Ask:
		return Answer{Effect: Deny, Text: "blocked by weir: " + shown(v.Message, v.Rule)}, nil
	case !d.NoHost && shownByHost(e, v.Question):
		return Answer{Effect: Ask, Text: request(v.Question)}, d.Guard.Presume(ctx, c)
	}
	p, err := d.Questions.Open(ctx, v.Question, nil)
	if err != nil {
		return Answer{}, fmt.Errorf("entering an approval request: %w", err)
	}
	text := request(v.Question) + "\nThe user can approve it with: " + approve.Command(p.ID) + "\nThen make the same call again."
	return Answer{Effect: Deny, Text: text}, nil
}

// after labels the result of a call.
func (d *Decider) after(ctx context.Context, e *Event, c *guard.Call) (Answer, error) {
	result, err := json.Marshal(map[string]any{"content": []any{}, "structuredContent": map[string]json.RawMessage{"response": e.Response}})
	if err != nil {
		return Answer{}, fmt.Errorf("reading the result: %w", err)
	}
	o := d.Guard.Observe(ctx, c, guard.Answer{Result: result, Own: true})
	switch {
	case o.Err != nil:
		return Answer{}, errors.Join(o.Err, d.presumeWorst(ctx, c))
	case o.Allowed() && e.Unread != "":
		return Answer{Effect: Pass, Notice: "weir could not read all of a result (" + plain.Text(e.Unread, maxReason) +
			"), so the conversation counts as one that holds private data and untrusted content"}, nil
	case o.Allowed():
		return Answer{Effect: Pass}, nil
	}
	return Answer{Effect: Deny, Text: "withheld by weir: " + shown(o.Message, o.Rule)}, nil
}

// lateTime is how long to raise a session takes at most whose event could not be decided on.
const lateTime = 5 * time.Second

// presumeWorst raises the agent session as if the result of a call held anything, since the agent has it, and the search of it has failed.
func (d *Decider) presumeWorst(ctx context.Context, c *guard.Call) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateTime)
	defer cancel()
	c.Context = unknown()
	return d.Guard.Observe(ctx, c, guard.Answer{Result: json.RawMessage(`{"content":[]}`), Own: true}).Err
}
