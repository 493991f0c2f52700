package mcpguard

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

type userMessages struct{}

// WithUserMessage returns a context with a message of the user, added to those that ctx has. The calls that a host
// makes with the context are decided with the user's own words. Pass nothing here that the user has not typed:
// words of the agent, or of a document, would count as the user's.
func WithUserMessage(ctx context.Context, message string) context.Context {
	before, _ := ctx.Value(userMessages{}).([]string)
	return context.WithValue(ctx, userMessages{}, append(before[:len(before):len(before)], message))
}

type agentSession struct{}

// WithSession returns a context with the agent session of the calls that a host makes with it, for hosts of several
// users, conversations or jobs.
func WithSession(ctx context.Context, ref session.Ref) context.Context {
	return context.WithValue(ctx, agentSession{}, ref)
}

// withUserMessages returns params with the user's messages in ctx.
func withUserMessages(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	messages, _ := ctx.Value(userMessages{}).([]string)
	if len(messages) == 0 {
		return params, nil
	}
	said, err := json.Marshal(messages)
	if err != nil {
		return nil, fmt.Errorf("encoding the user's messages: %w", err)
	}
	if params, err = rawjson.Set(params, said, "_meta", guard.MetaUserMessage); err != nil {
		return nil, fmt.Errorf("adding the user's messages: %w", err)
	}
	return params, nil
}

// raising is a State that tells of agent sessions that rise.
type raising struct {
	guard.State
	tell func(ctx context.Context, session string, before, after label.Label)
}

// Open implements [guard.State].
func (s raising) Open(ctx context.Context, ref session.Ref, event func(session.Rise) *record.Event) (session.State, error) {
	return s.State.Open(ctx, ref, func(r session.Rise) *record.Event {
		s.tell(ctx, r.Key, r.Before, r.After)
		return event(r)
	})
}

// Raise implements [guard.State].
func (s raising) Raise(ctx context.Context, key string, l label.Label, e *record.Event) (session.Change, error) {
	change, err := s.State.Raise(ctx, key, l, e)
	if err == nil && change.Raised {
		s.tell(ctx, key, change.Before, change.After)
		for _, r := range change.Ancestors {
			s.tell(ctx, r.Key, r.Before, r.After)
		}
	}
	return change, err
}
