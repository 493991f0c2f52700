package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/hook"
	"github.com/weir-mcp/weir/internal/owner"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/status"
)

// HookTime is how long a decision on an event may take. Hosts let a call happen whose hook takes too long, so it is less than weir install
// gives it.
const HookTime = 20 * time.Second

// A HookRequest is an event of a host for the owner of the agent sessions. The event itself is the body of the request.
type HookRequest struct {
	Host    string   `json:"host"`
	Event   string   `json:"event"`
	Config  string   `json:"config,omitempty"` // absolute path; "" for the built-in configuration
	Entries []string `json:"entries,omitempty"`
	Environ []string `json:"environ,omitempty"`
}

// A hookAnswer is the answer of the owner to an event. The zero hookAnswer is none.
type hookAnswer struct {
	Answered bool `json:"answered"`
	hook.Output
}

// Owner returns a client of the owner of the agent sessions in the state directory. It starts the program itself as one.
func Owner(env *home.Env) (*owner.Client, error) {
	dir, err := env.OwnerDir()
	if err != nil {
		return nil, err
	}
	exe, build, err := owner.ThisBuild()
	if err != nil {
		return nil, err
	}
	start := func() (<-chan struct{}, error) { return owner.Start(dir, exe, []string{"serve"}, env.BaseEnv()) }
	return &owner.Client{Dir: dir, Build: build, Start: start}, nil
}

// AskOwner has the owner decide on an event.
func AskOwner(ctx context.Context, env *home.Env, r *HookRequest, event []byte) (out hook.Output, err error) {
	client, err := Owner(env)
	if err != nil {
		return out, err
	}
	head, err := json.Marshal(r)
	if err != nil {
		return out, err
	}
	answer, err := client.Ask(ctx, owner.Request{Head: head, Body: event})
	if err != nil {
		return out, err
	}
	var a hookAnswer
	if err := json.Unmarshal(answer, &a); err != nil {
		return out, fmt.Errorf("reading the answer of weir serve: %w", err)
	}
	if !a.Answered {
		return out, errors.New("weir serve has sent no answer")
	}
	return a.Output, nil
}

// lockTime is how long an owner waits for the one before it to end.
const lockTime = 5 * time.Second

// ServeOwner owns the agent sessions of the state directory until ctx ends, another build takes over, or no request comes for as long as
// idle. The error is [owner.ErrTaken] if another process owns them.
func ServeOwner(ctx context.Context, env *home.Env, idle time.Duration, log *slog.Logger) error {
	client, err := Owner(env)
	if err != nil {
		return err
	}
	hooks := NewHooks(log)
	serve := owner.Options{Dir: client.Dir, Build: client.Build, Idle: idle, Answer: func(ctx context.Context, r owner.Request) ([]byte, error) {
		return json.Marshal(hookAnswer{true, hooks.answer(ctx, r)})
	}}
	serve.Outdated = func() bool {
		_, now, err := owner.ThisBuild()
		return err != nil || !now.Equal(client.Build)
	}
	serve.Serves = func() (stop func()) {
		untold := tellOwner(env, hooks)
		return func() { untold(); hooks.Close() }
	}
	for until := time.Now().Add(lockTime); ; {
		err := owner.Serve(ctx, serve)
		if !errors.Is(err, owner.ErrTaken) || client.Served(ctx) || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// tellOwner lets weir status ask, until stop is called.
func tellOwner(env *home.Env, h *Hooks) (stop func()) {
	started := time.Now().UTC().Round(0)
	return tellStatus(env, h.log, func() status.Process {
		return status.Process{Version: home.Version(), Command: "weir serve", Serves: "its socket for hooks", Started: started,
			Calls: h.asked.Load(), InFlight: h.busy.Load()}
	}, nil)
}

// answer answers an event. Whatever goes wrong, the call does not happen.
func (h *Hooks) answer(ctx context.Context, r owner.Request) (out hook.Output) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error("deciding on an event of a host", "panic", p)
			out = hook.Failed(fmt.Sprintf("an error of weir: %v", p))
		}
	}()
	h.asked.Add(1)
	h.busy.Add(1)
	defer h.busy.Add(-1)
	ctx, cancel := context.WithTimeout(ctx, HookTime)
	defer cancel()
	var from HookRequest
	if err := json.Unmarshal(r.Head, &from); err != nil {
		return hook.Failed("reading the request: " + err.Error())
	}
	told, err := hook.Parse(from.Host, from.Event, r.Body)
	if err != nil {
		return hook.Failed(err.Error())
	}
	env := &home.Env{Environ: from.Environ}
	answer, err := h.Decide(ctx, Hook{Env: env, Config: from.Config, Entries: from.Entries, Event: told})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		var f *remedy.Error
		if errors.As(err, &f) && f.Hint != "" {
			return hook.Failed(err.Error() + "; " + f.Hint)
		}
		return hook.Failed(err.Error())
	}
	return answer.For(told)
}
