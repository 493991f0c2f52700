package interceptor

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// Extension is the identifier under which a host declares the capability.
const Extension = "io.modelcontextprotocol/interceptors"

// The methods of the extension (Wire methods).
const (
	MethodList   = "interceptors/list"
	MethodInvoke = "interceptor/invoke"
)

// A Type is the type of an interceptor.
type Type string

// The types.
const (
	Validation Type = "validation"
	Mutation   Type = "mutation"
)

// A Phase is the half of an operation that an event belongs to.
type Phase string

// The phases.
const (
	Request  Phase = "request"
	Response Phase = "response"
)

// A Mode says whether an interceptor may block and change. Anything but Audit counts as Active.
type Mode string

// The modes.
const (
	Active Mode = "active"
	Audit  Mode = "audit"
)

// A Hook names events in one phase (Lifecycle events and hooks).
type Hook struct {
	Events []string `json:"events"`
	Phase  Phase    `json:"phase"`
}

// On returns hooks for events in both phases.
func On(events ...string) []Hook { return []Hook{{events, Request}, {events, Response}} }

// A Descriptor describes an interceptor as interceptors/list has it. The host sets Type.
type Descriptor struct {
	Name         string          `json:"name"`
	Version      string          `json:"version,omitempty"`
	Description  string          `json:"description,omitempty"`
	Type         Type            `json:"type"`
	Hooks        []Hook          `json:"hooks"`
	Mode         Mode            `json:"mode,omitempty"`
	FailOpen     bool            `json:"failOpen,omitempty"`
	Priority     Priority        `json:"priorityHint,omitzero"` // of mutators; lower runs first
	ConfigSchema json.RawMessage `json:"configSchema,omitempty"`
}

// A Priority orders mutators, by phase. On the wire it may be one number for both.
type Priority struct {
	Request  int32 `json:"request,omitempty"`
	Response int32 `json:"response,omitempty"`
}

// UnmarshalJSON reads a number or an object of numbers.
func (p *Priority) UnmarshalJSON(data []byte) error {
	*p = Priority{}
	if rawjson.Kind(data) != '{' {
		err := json.Unmarshal(data, &p.Request)
		p.Response = p.Request
		return err
	}
	type plain Priority
	return json.Unmarshal(data, (*plain)(p))
}

// of returns the priority in a phase.
func (p Priority) of(phase Phase) int32 {
	if phase == Response {
		return p.Response
	}
	return p.Request
}

// covers reports whether one of the hooks matches an event in a phase.
func (d *Descriptor) covers(event string, phase Phase) bool {
	return slices.ContainsFunc(d.Hooks, func(h Hook) bool { return h.Phase == phase && h.matches(event) })
}

// matches reports whether one of the hook's events matches (Lifecycle events and hooks, 2, 3 and 5).
func (h Hook) matches(event string) bool {
	if !isEvent(event) {
		return false
	}
	return slices.ContainsFunc(h.Events, func(pattern string) bool {
		space, wild := strings.CutSuffix(pattern, "*")
		return pattern == event || wild && (space == "" || strings.HasSuffix(space, "/")) && strings.HasPrefix(event, space)
	})
}

// isEvent reports whether a name is one of an event: the handshake, pings and notifications are none.
func isEvent(name string) bool {
	return name != "" && name != "initialize" && name != "ping" && !strings.HasPrefix(name, "notifications/") && !strings.Contains(name, "*")
}

// A Severity says how bad a finding is. In an invalid result anything but Info and Warn counts as Error.
type Severity string

// The severities.
const (
	Info  Severity = "info"
	Warn  Severity = "warn"
	Error Severity = "error"
)

// An Invocation is a payload for one interceptor, as interceptor/invoke has it.
type Invocation struct {
	Name    string          `json:"name"`
	Event   string          `json:"event"`
	Phase   Phase           `json:"phase"`
	Payload json.RawMessage `json:"payload"`
	Config  json.RawMessage `json:"config,omitempty"`    // an object, or nil
	Timeout int64           `json:"timeoutMs,omitempty"` // in milliseconds; 0: none
	Context Context         `json:"context,omitzero"`
	Meta    json.RawMessage `json:"_meta,omitempty"` // an object, or nil
}

// A Context tells of the operation. The draft of today has no session id; earlier ones have.
type Context struct {
	Principal Principal `json:"principal,omitzero"`
	TraceID   string    `json:"traceId,omitempty"`
	SpanID    string    `json:"spanId,omitempty"`
	Timestamp string    `json:"timestamp,omitempty"`
	SessionID string    `json:"sessionId,omitempty"`
}

// A Principal is on whose behalf the operation is.
type Principal struct {
	Type string `json:"type"`
	ID   string `json:"id,omitempty"`
}

// maxTimeout bounds timeoutMs: an hour.
const maxTimeout = 60 * 60 * 1000

var errNoObject = errors.New("params are not an object")

// readInvocation reads the params of interceptor/invoke.
func readInvocation(params json.RawMessage) (*Invocation, error) {
	if err := rawjson.Check(params); err != nil {
		return nil, err
	}
	if rawjson.Kind(params) != '{' {
		return nil, errNoObject
	}
	in := &Invocation{}
	for _, text := range []struct {
		to   *string
		path []string
		must bool
	}{
		{&in.Name, []string{"name"}, true},
		{&in.Event, []string{"event"}, true},
		{(*string)(&in.Phase), []string{"phase"}, true},
		{&in.Context.TraceID, []string{"context", "traceId"}, false},
		{&in.Context.SpanID, []string{"context", "spanId"}, false},
		{&in.Context.Timestamp, []string{"context", "timestamp"}, false},
		{&in.Context.SessionID, []string{"context", "sessionId"}, false},
		{&in.Context.Principal.Type, []string{"context", "principal", "type"}, false},
		{&in.Context.Principal.ID, []string{"context", "principal", "id"}, false},
	} {
		raw, there := rawjson.Get(params, text.path...)
		s, ok := rawjson.String(raw)
		if there && !ok || text.must && s == "" {
			return nil, fmt.Errorf("%s is missing or not a text", strings.Join(text.path, "."))
		}
		*text.to = s
	}
	if in.Phase != Request && in.Phase != Response {
		return nil, errors.New("phase is neither request nor response")
	}
	for _, object := range []struct {
		to   *json.RawMessage
		path []string
	}{
		{&in.Config, []string{"config"}}, {&in.Meta, []string{"_meta"}},
		{new(json.RawMessage), []string{"context"}}, {new(json.RawMessage), []string{"context", "principal"}},
	} {
		raw, there := rawjson.Get(params, object.path...)
		if there && rawjson.Kind(raw) != '{' {
			return nil, fmt.Errorf("%s is not an object", strings.Join(object.path, "."))
		}
		*object.to = raw
	}
	var there bool
	if in.Payload, there = rawjson.Get(params, "payload"); !there {
		return nil, errors.New("payload is missing")
	}
	if raw, there := rawjson.Get(params, "timeoutMs"); there {
		var ms float64
		if err := json.Unmarshal(raw, &ms); err != nil || rawjson.Kind(raw) != '0' || ms < 1 || ms > maxTimeout || ms != math.Trunc(ms) {
			return nil, fmt.Errorf("timeoutMs is not a whole number from 1 to %d", maxTimeout)
		}
		in.Timeout = int64(ms)
	}
	return in, nil
}
