// Package app is a running Weir: the store and the log, the gateway, the reload of the configuration, retention, the
// status socket, the console, and the owner that decides for hooks. The command line parses flags, calls this package, and prints.
//
//	err := app.Serve(ctx, env, &app.Service{Setup: s, BaseEnv: env.BaseEnv(), Log: log})
//
// Serve returns when the host leaves or ctx ends, with every goroutine and every process of a server ended.
package app

import (
	"log/slog"
	"sync/atomic"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/label"
)

// A Service is the setup that a command serves, and how.
type Service struct {
	*setup.Setup
	BaseEnv []string                     // of servers
	Reload  func() (*setup.Setup, error) // loads the setup again; nil if it never changes
	Log     *slog.Logger

	Shared    *guard.Memory           // with other services, see gateway.Remembering
	Neighbors *backend.Neighbors      // likewise
	Keep      func(label.Label) error // likewise

	Start func() (upstream.Child, error) // starts the program of a server elsewhere; nil: here

	TrustText string                 // the user's words beforehand
	Session   string                 // the agent session of requests on stdio that name none; "" for that of the host or folder
	kept      *state                 // nil: the service opens one of its own
	locked    *pins.File             // nil: nothing is pinned
	ground    files.Current          // this machine's files
	serves    atomic.Pointer[string] // where hosts are served; nil before they are
}
