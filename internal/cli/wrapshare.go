package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"sync"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/policy"
)

// A wrapTold is the command line of a weir wrap, as it tells the process that decides for it. Paths are absolute.
type wrapTold struct {
	Policy       string   `json:"policy,omitempty"`
	Pins         string   `json:"pins,omitempty"`
	Mode         string   `json:"mode,omitempty"`
	Level        string   `json:"level,omitempty"`
	Session      string   `json:"session,omitempty"`
	Uncatalogued bool     `json:"uncatalogued,omitempty"`
	Trust        string   `json:"trust"`
	Transport    string   `json:"transport"`
	Name         string   `json:"name,omitempty"`
	Headers      []string `json:"headers,omitempty"`
	Overlays     []string `json:"overlays,omitempty"`
	Args         []string `json:"args"`
}

// shareWrap has the process decide that the wraps of this host share. A wrap with a store, a record, a console or
// trusted text of its own decides alone, as does one whose command is not there.
func shareWrap(ctx context.Context, env *home.Env, flags *serveFlags, named *serverFlags, args []string) (status int, err error) {
	if flags.store != "" || flags.record != "" || flags.shows != "" || len(flags.trust) > 0 {
		return 0, app.ErrAlone
	}
	server, err := named.server(args)
	if err != nil {
		return 0, err
	}
	spec := upstream.Spec{Name: server.Name}
	if server.Command != "" {
		if _, err := exec.LookPath(args[0]); err != nil {
			return 0, fmt.Errorf("%w: %w", app.ErrAlone, err)
		}
		spec.Command = args
	}
	told := wrapTold{
		Policy: flags.policy, Pins: flags.pins, Mode: flags.mode.value, Level: flags.level.value, Session: flags.session,
		Uncatalogued: flags.uncatalogued, Trust: named.trust.value, Transport: named.transport.value, Name: named.name,
		Headers: named.headers, Args: args,
	}
	if _, profile := policy.Profile(told.Policy); told.Policy != "" && !profile {
		told.Policy = home.Absolute(told.Policy)
	}
	if told.Pins != "" && told.Pins != config.NoRecord {
		told.Pins = home.Absolute(told.Pins)
	}
	for _, path := range named.overlays {
		told.Overlays = append(told.Overlays, home.Absolute(path))
	}
	text, err := json.Marshal(told)
	if err != nil {
		return 0, err
	}
	return app.ShareWrap(ctx, env, text, spec, flags.logger(env))
}

// toldWrap returns the service that a wrap has told of.
func toldWrap(env *home.Env, text json.RawMessage) (*app.Service, error) {
	var told wrapTold
	if err := json.Unmarshal(text, &told); err != nil {
		return nil, err
	}
	if len(told.Args) == 0 {
		return nil, errors.New("the wrap names no server")
	}
	flags := serveFlags{policy: told.Policy, pins: told.Pins, session: told.Session, uncatalogued: told.Uncatalogued}
	flags.mode.value, flags.level.value = told.Mode, told.Level
	named := serverFlags{name: told.Name, headers: told.Headers, overlays: told.Overlays}
	named.trust.value, named.transport.value = told.Trust, told.Transport
	return wrapService(env, &flags, &named, told.Args)
}

// serveWraps serves the wraps with a key.
func serveWraps(ctx context.Context, env *home.Env, key string, flags *serveFlags) error {
	prepare := func(env *home.Env, told json.RawMessage) (*app.Prepared, error) {
		stderr := newAsyncStderr(env.Stderr)
		env.Stderr = stderr
		end := sync.OnceFunc(func() { stderr.flush(lastWords) })
		s, err := toldWrap(env, told)
		if err != nil {
			end()
			return nil, err
		}
		status := func(err error) int {
			defer end() // before the wrap ends
			return finish(stderr, err)
		}
		return &app.Prepared{Service: s, Status: status, Close: end}, nil
	}
	return app.ServeWraps(ctx, env, key, &app.Wraps{Log: flags.logger(env), Prepare: prepare})
}
