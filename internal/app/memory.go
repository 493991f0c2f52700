package app

import (
	"context"
	"time"

	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
)

// memoryTime is how long an operation on the memory of agent sessions may take, with the start of an owner.
const memoryTime = 5 * time.Second

// shareMemory has the owner keep the memory of agent sessions, for all processes in front of servers of a conversation.
// It does not where hosts come over HTTP, since all servers are behind this process then, and where nothing is stored.
func (s *state) shareMemory(env *home.Env, c *config.Config) error {
	if c.Listen != "" || s.place == "" {
		return nil
	}
	client, err := Owner(env)
	if err != nil {
		return err
	}
	line := client.Line()
	s.closers = append(s.closers, line)
	s.memory = trace.In(s.place, trace.NewThere(func(ctx context.Context, operation []byte) ([]byte, error) {
		// A host that takes a call back takes back nothing that the session has seen.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), memoryTime)
		defer cancel()
		return line.Do(ctx, operation)
	}))
	return nil
}
