package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// KeySize is the length of Options.Key in bytes.
const KeySize = 32

// DefaultPatience is how long the user has to answer where Options.Patience is not set.
const DefaultPatience = 5 * time.Minute

// Options configures Tools.
type Options struct {
	// Key protects the state that a client brings back with the user's answer (2026-07-28, Multi Round-Trip Requests).
	// Nil is a random one, good for a server of one process; processes that answer for each other share one of KeySize
	// bytes.
	Key      []byte
	Patience time.Duration    // how long the user has to answer; 0 is DefaultPatience
	Now      func() time.Time // nil: time.Now
}

// Tools are the annotated tools of one server.
type Tools struct {
	server *mcp.Server
	asks   *asks

	mu sync.RWMutex
	by map[string]declared
}

// declared is a tool's declaration without the type of its input.
type declared struct {
	contract contract.Contract
	resolve  func(arguments json.RawMessage) (contract.Contract, error) // nil if the tool is not resolvable
}

// A Declaration is an author's description of a tool.
type Declaration[In any] struct {
	// Contract describes the possible effects of the tool with any arguments: its sets are possible values (SEP-1913,
	// Annotation Types).
	Contract contract.Contract

	// Resolve takes Contract, which it gets as declared, and returns it narrowed to a call with these arguments, as by
	// declared.To(contract.Internal). It can state only values that Contract has among its possible ones: a tool that
	// can be undone for some arguments declares both outcomes. It must not have effects. Nil: the tool is not
	// resolvable.
	Resolve func(in In, declared contract.Contract) (contract.Contract, error)

	// Admit decides whether a call may run, by the label of the agent session. Nil: every call may. The zero Decision
	// refuses.
	Admit func(seen label.Label, in In) Decision
}

// A Handler is a tool, as [mcp.ToolHandlerFor] but for the Call, by which it labels its result. It must not
// write annotations into the result by hand.
type Handler[In, Out any] func(ctx context.Context, c *Call, in In) (*mcp.CallToolResult, Out, error)

// A RawHandler is a [Handler] of arguments in JSON.
type RawHandler func(ctx context.Context, c *Call, arguments json.RawMessage) (*mcp.CallToolResult, error)

func refused(reason string) error { return errors.New("refused: " + reason) }
