package interceptor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// An Interceptor is a descriptor with its function: Validate or Mutate, which must heed ctx. An error of the
// function is a failed execution; its text reaches the invoker.
type Interceptor struct {
	Descriptor
	Validate func(ctx context.Context, in *Invocation) (Verdict, error)
	Mutate   func(ctx context.Context, in *Invocation) (Change, error)
}

// A Verdict is the decision of a validator. The zero Verdict refuses.
type Verdict struct {
	Valid    bool            `json:"valid"`
	Severity Severity        `json:"severity,omitempty"` // of an invalid payload: "" is Error
	Messages []Message       `json:"messages,omitempty"`
	Info     json.RawMessage `json:"info,omitempty"` // an object, or nil
}

// A Message explains a verdict.
type Message struct {
	Path     string   `json:"path,omitempty"`
	Message  string   `json:"message"`
	Severity Severity `json:"severity"`
}

// A Change is the outcome of a mutator: another payload, or nil for the same.
type Change struct {
	Payload json.RawMessage
	Info    json.RawMessage // an object, or nil
}

// A Result is the result of interceptor/invoke: of a validator with a Verdict, of a mutator with Modified and Payload.
type Result struct {
	Interceptor string          `json:"interceptor"`
	Type        Type            `json:"type"`
	Phase       Phase           `json:"phase"`
	DurationMs  float64         `json:"durationMs"`
	Valid       *bool           `json:"valid,omitempty"`
	Severity    Severity        `json:"severity,omitempty"`
	Messages    []Message       `json:"messages,omitempty"`
	Modified    *bool           `json:"modified,omitempty"`
	Payload     json.RawMessage `json:"payload,omitempty"`
	Info        json.RawMessage `json:"info,omitempty"`
}

// encode writes JSON with payloads as they are but for white space.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// Codes of failures (Single-invocation errors).
const (
	CodeNoMethod = -32601
	CodeParams   = -32602
	CodeInternal = -32603
)

// A Failure is the JSON-RPC error of a request of the extension.
type Failure struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

func failure(code int, message string, data map[string]any) *Failure {
	raw, err := json.Marshal(data)
	if err != nil { // by a name that is no text
		raw = nil
	}
	return &Failure{code, message, raw}
}

// A Host offers interceptors. Make one with [NewHost]. It is safe for concurrent use if its functions are.
type Host struct {
	all []Interceptor
}

// NewHost returns a host of interceptors, which it lists in their order.
func NewHost(all ...Interceptor) (*Host, error) {
	h, seen := &Host{}, map[string]bool{}
	for _, i := range all {
		switch {
		case i.Name == "" || seen[i.Name]:
			return nil, fmt.Errorf("interceptor %q: its name is empty or there twice", i.Name)
		case (i.Validate == nil) == (i.Mutate == nil):
			return nil, fmt.Errorf("interceptor %q has neither or both of Validate and Mutate", i.Name)
		}
		seen[i.Name] = true
		if i.Type = Validation; i.Mutate != nil {
			i.Type = Mutation
		}
		if i.Mode != Audit { // the default is not written
			i.Mode = ""
		}
		h.all = append(h.all, i)
	}
	return h, nil
}

// List answers interceptors/list: the descriptors, or those with a hook that matches params.event.
func (h *Host) List(params json.RawMessage) (json.RawMessage, error) {
	event := ""
	if params != nil {
		if err := rawjson.Check(params); err != nil || rawjson.Kind(params) != '{' {
			return nil, failure(CodeParams, errNoObject.Error(), nil)
		}
		if raw, there := rawjson.Get(params, "event"); there {
			var ok bool
			if event, ok = rawjson.String(raw); !ok || event == "" || strings.Contains(event, "*") {
				return nil, failure(CodeParams, "event is not the name of one event", nil)
			}
		}
	}
	listed := []Descriptor{}
	for _, i := range h.all {
		if event == "" || i.covers(event, Request) || i.covers(event, Response) {
			listed = append(listed, i.Descriptor)
		}
	}
	return encode(map[string]any{"interceptors": listed})
}

// Events returns the events of all hooks, for the capability's supportedEvents.
func (h *Host) Events() []string {
	events, seen := []string{}, map[string]bool{}
	for _, i := range h.all {
		for _, hook := range i.Hooks {
			for _, e := range hook.Events {
				if !seen[e] {
					seen[e] = true
					events = append(events, e)
				}
			}
		}
	}
	return events
}

// Invoke answers interceptor/invoke. An error is a *[Failure].
func (h *Host) Invoke(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	in, err := readInvocation(params)
	if err != nil {
		return nil, failure(CodeParams, err.Error(), nil)
	}
	i := h.named(in.Name)
	switch {
	case i == nil:
		return nil, failure(CodeParams, "unknown interceptor", map[string]any{"name": in.Name})
	case !i.covers(in.Event, in.Phase):
		return nil, failure(CodeParams, "the interceptor has no such hook", map[string]any{
			"name": in.Name, "event": in.Event, "phase": in.Phase, "advertisedHooks": i.Hooks,
		})
	}
	begun := time.Now()
	r, err := i.run(ctx, in)
	if err != nil {
		return nil, err
	}
	r.DurationMs = float64(time.Since(begun).Microseconds()) / 1000
	result, err := encode(r)
	if err != nil || rawjson.Check(result) != nil {
		return nil, failed(in, errors.New("its result is not JSON"))
	}
	return result, nil
}

func (h *Host) named(name string) *Interceptor {
	for i := range h.all {
		if h.all[i].Name == name {
			return &h.all[i]
		}
	}
	return nil
}

// failed returns the failure of an execution: no verdict (E1).
func failed(in *Invocation, err error) *Failure {
	var own *Failure
	if errors.As(err, &own) {
		return own
	}
	return failure(CodeInternal, "interceptor execution failed", map[string]any{"interceptor": in.Name, "reason": err.Error()})
}

// run executes an interceptor within its time (T1).
func (i *Interceptor) run(ctx context.Context, in *Invocation) (r *Result, err error) {
	if in.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(in.Timeout)*time.Millisecond)
		defer cancel()
	}
	defer func() {
		if recover() != nil {
			r, err = nil, failed(in, errors.New("it panicked"))
		}
	}()
	r, err = i.execute(ctx, in)
	switch {
	case in.Timeout > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, failure(CodeInternal, "interceptor execution timeout", map[string]any{
			"interceptor": in.Name, "reason": "timeout", "timeoutMs": in.Timeout, "phase": in.Phase,
		})
	case err == nil:
		err = ctx.Err()
	}
	if err != nil {
		return nil, failed(in, err)
	}
	return r, nil
}

func (i *Interceptor) execute(ctx context.Context, in *Invocation) (*Result, error) {
	r := &Result{Interceptor: i.Name, Type: i.Type, Phase: in.Phase}
	if i.Mutate != nil {
		c, err := i.Mutate(ctx, in)
		r.Payload, r.Info = c.Payload, c.Info
		modified := c.Payload != nil && !bytes.Equal(c.Payload, in.Payload)
		if r.Modified = &modified; !modified {
			r.Payload = in.Payload
		}
		return r, err
	}
	v, err := i.Validate(ctx, in)
	r.Valid, r.Severity, r.Messages, r.Info = &v.Valid, v.Severity, v.Messages, v.Info
	if !v.Valid && v.Severity == "" {
		r.Severity = Error
	}
	return r, err
}
