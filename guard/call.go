package guard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// A Way is how a server is reached: its name may be that of another one, too.
type Way struct {
	// Reached stands for it, so that no other server gets the approvals and exceptions of this one by its name. "": it is
	// not known, and there are no exceptions.
	Reached string

	// Via is the program or the address, for people; "" if the name tells them enough.
	Via string
}

// A Call is an action that an agent wants to take with a server: call a tool, read a resource, get a prompt. The guard
// reads it; the methods that change it say so.
type Call struct {
	ID      string      // ties the events of the call together; unique
	Session session.Ref // the agent session
	Server  string      // the server's name in the configuration
	Trust   contract.Trust
	Readers []string        // groups of [Options.Readers] who may read all that the server returns; none: the user alone
	Method  string          // JSON-RPC method, such as "tools/call"
	Name    string          // tool or prompt name on its server, or resource URI
	Params  json.RawMessage // the request's params as the host sent them; a JSON object without duplicate names, or nil

	// Arguments are the agent's choice in this call: a JSON object, or nil. For a tool or a prompt they are
	// params.arguments; to read a resource that its server lists, the agent chooses nothing.
	Arguments json.RawMessage

	Declared contract.Contract // by the server, for the tool

	// Effective is the contract that counts for all arguments, as Overlay.Effective returns it.
	Effective contract.Contract

	Overlay  *overlay.Tool      // the operator's description of the tool; nil: none
	Resolved *contract.Contract // by the server, for this very call: see [Guard.Resolved]; nil: none

	// Violates says in which way the arguments are outside of the tool's input schema; "" if they are not, or there is
	// none. Such a call may do anything: all descriptions of the tool are of other arguments.
	Violates string

	// Undeclared are the parts of the request that nothing declares: the agent chose their names, as it did values.
	Undeclared Undeclared

	Listed // the server's definition of the tool

	// Host says that the tool is one of the host itself. The host knows everything that the agent was shown, so no secret of another server
	// crosses to it. What the tool sends on is egress, as with any other.
	Host bool

	Hiding // hidden values of the call

	Way // to the server

	Holding

	// Context is the label of everything that the agent was shown outside of results: definitions of tools, prompts and
	// resources, instructions, log and progress messages. It enters the agent session before the call is decided. See
	// [Definitions] and [Heard], whose alerts enter, too.
	Context label.Label

	// Tools are all that the agent may call; nil: they are not known. Orders to call one of them, in a
	// text of the server, count as a signal.
	Tools *detect.Tools

	// Further says that the request goes on with a call that went out before, and adds nothing but answers to its
	// server's questions: see [Admission.Onward]. Whoever sets it has checked that the server gave the requestState
	// and asked for each of the answers: nobody is shown these with the call. [NewCall] leaves it unset.
	Further bool

	questioning
}

// A Holding says why a call must not go, whatever policy says.
type Holding struct {
	Held  string                                // "" if nothing holds it
	holds func(context.Context) (string, error) // finds out whether anything does by now; nil: nothing will
}

// A questioning says whether a call is a question of a server, or was one to it.
type questioning struct {
	asked  bool           // it is one, see Inquiry
	within *Call          // in which the server asked; nil if that is not known
	shown  *trace.Finding // of the call as its server was shown it before it was decided: see Show; nil if it was not
}

// Listed is the rest of the definition of a tool, beside its contract. The zero Listed defines nothing.
type Listed struct {
	// Schema is the JSON Schema of the arguments, as the server wrote it, or nil. It tells how much the choice of
	// arguments can carry.
	Schema json.RawMessage

	// Confirmed are the parts that the arguments play, as a person has confirmed a draft of them for this definition.
	// They count for calls to destinations that the user's words name, and only where the overlay says nothing of them.
	Confirmed trace.Confirmed

	// Display is the template by which the server describes calls to people: see [annotation.DisplayTemplate]. Only
	// requests about calls of a trusted server show it.
	Display string

	// Fits holds the arguments of a call, from which values were redacted, against Schema: it sets Violates and the
	// names in Undeclared. An error says that a server may read them as others than the guard. Nil: they do not fit.
	Fits func(*Call) error
}

// Hiding is the part of a call that concerns hidden values, and the sessions that share them. The zero Hiding has
// none.
type Hiding struct {
	vault.Filling // hidden values in the arguments, and on which the call depends: see [Hidden.Expand]

	Computed bool // whether any part of the call, and that it is made, may depend on the values: a program has read them

	Above       []string        // keys of the agent sessions above an isolated one: see [Hidden.Above]
	Output      json.RawMessage // the JSON Schema of the tool's results, as the server wrote it, or nil: a hidden result shows the keys in it
	Hide        bool            // the operator says that results of the tool are hidden
	Written     json.RawMessage // the arguments as the agent wrote them, with handles; nil if there are none
	Changes     string          // how a sanitizer of the operator makes a value into another, for the event; "" if none does
	Looks       int             // bits that the call tells of hidden values: see [Hidden.Look]
	LookedSetup string          // the setup under which the value was hidden of which Looks are told
	Tells       int             // of these, the bits that a refusal tells too, since Looks depends on the value

	before json.RawMessage // Params as the host sent them, if values of these are redacted; else nil

	spent string // why the call may tell no more of hidden values; "" if it may
}

// Undeclared are the parts of a request that neither MCP nor the tool's input schema knows. They are traced as
// arguments are.
type Undeclared struct {
	Names []string // of members of the arguments that the schema does not name, at any depth

	// Beside are the paths of those that may change the meaning of other arguments. Where the overlay names one of them
	// no more than the schema does, its conditions were written of other calls, so they cannot lower the contract of
	// this one.
	Beside []string

	// Params are the members of the params that MCP does not have for the method, as a JSON object, or nil. Nobody says
	// how a server uses them.
	Params json.RawMessage
}

// HoldBy has a function find out why the call must not go, now and again directly before it goes; "" if it may.
func (c *Call) HoldBy(ctx context.Context, holds func(context.Context) (held string, err error)) error {
	held, err := holds(ctx)
	if c.holds = holds; c.Held == "" {
		c.Held = held
	}
	return err
}

// keys are the paths of the params that name the thing which a request is about.
var keys = map[string][][]string{
	"tools/call": {{"name"}}, "prompts/get": {{"name"}},
	"resources/read": {{"uri"}}, "resources/subscribe": {{"uri"}}, "resources/unsubscribe": {{"uri"}},
	"completion/complete": {{"ref", "name"}, {"ref", "uri"}},
}

// undecided are the requests and notifications of hosts that concern a connection and no data of an agent: the
// handshakes, the lists, the level of log messages, and the notifications that MCP has for hosts.
var undecided = []string{
	"initialize", "server/discover", "ping", "logging/setLevel",
	"tools/list", "prompts/list", "resources/list", "resources/templates/list",
	"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed",
}

// Guarded reports whether a request or a notification of a host has to be decided before a server gets it: all but a
// few that MCP has for the connection. Of those the caller passes on no member in which an agent could put text.
func Guarded(method string) bool { return !slices.Contains(undecided, method) }

// NewCall returns the call that stands for a request or a notification of a host, with a new ID and the contract that
// counts if nobody declares one; [Call.Describe] sets another. Of a method that MCP does not have, or that nobody here
// knows, the worst is assumed, and its params count as chosen by the agent. It fails for params that two JSON parsers
// could read differently, for those without the name that the method needs, and for methods that are not [Guarded].
func NewCall(ref session.Ref, server string, trust contract.Trust, method string, params json.RawMessage) (*Call, error) {
	if !Guarded(method) {
		return nil, fmt.Errorf("%s is no call of an agent", method)
	}
	if rawjson.Kind(params) == 'n' {
		params = nil
	}
	if err := annotation.Check(params); err != nil {
		return nil, fmt.Errorf("params of %s: %w", method, err)
	}
	if kind := rawjson.Kind(params); kind != 0 && kind != '{' {
		return nil, fmt.Errorf("params of %s are not an object", method)
	}
	name, err := subject(method, params)
	if err != nil {
		return nil, fmt.Errorf("params of %s: %w", method, err)
	}
	c := &Call{
		ID: rand.Text(), Session: ref, Server: server, Trust: trust, Method: method, Name: name, Params: params,
		Arguments: argumentsOf(method, params),
	}
	declared := contract.Offered(trust)
	if method == "tools/call" || keys[method] == nil {
		declared = contract.Contract{}
	}
	if c.Params == nil {
		c.Params = json.RawMessage("{}") // so that the session's annotations have a place
	}
	c.Describe(declared, nil)
	return c, nil
}

// subject returns the name of the thing that a request is about; of a method that nobody here knows, the method.
func subject(method string, params json.RawMessage) (string, error) {
	paths, known := keys[method]
	if !known {
		return method, nil
	}
	name, found := "", 0
	for _, path := range paths {
		if raw, ok := rawjson.Get(params, path...); ok {
			if name, ok = rawjson.String(raw); !ok {
				return "", fmt.Errorf("%s is not a string", strings.Join(path, "."))
			}
			found++
		}
	}
	switch {
	case found == 0:
		return "", fmt.Errorf("%s is missing or not a string", strings.Join(paths[0], "."))
	case found > 1:
		return "", errors.New("ref has both a name and a uri")
	}
	return name, nil
}

// argumentsOf returns the arguments of a request: what the agent chose in it, as an object; nil if it chose nothing.
func argumentsOf(method string, params json.RawMessage) (args json.RawMessage) {
	switch {
	case method == "tools/call", method == "prompts/get":
		args, _ = rawjson.Get(params, "arguments")
	case strings.HasPrefix(method, "resources/") && keys[method] != nil:
		raw, _ := rawjson.Get(params, "uri")
		args, _ = rawjson.Set([]byte("{}"), raw, "uri")
	case method == "completion/complete": // the argument that is being typed, and those before it
		args = rawjson.Delete(rawjson.Delete(params, "_meta"), "ref")
	default:
		args = rawjson.Delete(params, "_meta")
	}
	if rawjson.Kind(args) != '{' {
		return nil
	}
	return args
}

// Describe sets the contract that the server declares for the tool, the operator's overlay, which may be nil, and the
// contract that counts by both and by the trust in the server.
func (c *Call) Describe(declared contract.Contract, o *overlay.Overlay) {
	switch c.Method {
	case "tools/call":
		c.Overlay = o.Tool(c.Name)
	case "prompts/get":
		c.Overlay = o.Prompt(c.Name)
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		c.Overlay = o.Resource(c.Name)
	case "completion/complete":
		if _, ok := rawjson.Get(c.Params, "ref", "name"); ok {
			c.Overlay = o.Prompt(c.Name)
		} else if !strings.Contains(c.Name, "{") { // the URIs of a template have overlays of their own
			c.Overlay = o.Resource(c.Name)
		}
	}
	c.Declared, c.Effective = declared, c.Overlay.Effective(declared, c.Trust)
}

// written returns the params as the host sent them.
func (c *Call) written() json.RawMessage {
	if c.before != nil {
		return c.before
	}
	return c.Params
}

// URI returns the attribution of the call's results: mcp://server/name, or for a resource mcp://server/ and its URI.
func (c *Call) URI() string {
	return "mcp://" + url.PathEscape(c.Server) + "/" + (&url.URL{Path: c.Name}).EscapedPath()
}

// canonicalArguments is the canonical form of everything that a call's params ask for: all members but the metadata
// and, of a further round, the answers to the server's questions, which are decided on one by one.
func canonicalArguments(params json.RawMessage, further bool) []byte {
	params = rawjson.Delete(params, "_meta")
	if further {
		params = rawjson.Delete(rawjson.Delete(params, "inputResponses"), "requestState")
	}
	if len(params) == 0 {
		return []byte("{}")
	}
	return rawjson.Canonical(params)
}
