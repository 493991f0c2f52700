package policy

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/weir-mcp/weir/internal/expression"
	"github.com/weir-mcp/weir/label"
)

// ResolveName returns the value of a fact, or of has(fact).
func (a *activation) ResolveName(name string) (any, bool) {
	if i, ok := factIndex[name]; ok {
		return a.value(i), true
	}
	if present, ok := expression.Present(name); ok {
		if i, ok := factIndex[present]; ok && facts[i].has != nil {
			return types.Bool(facts[i].has(a)), true
		}
	}
	return nil, false
}

// Parent returns nil: there is nothing outside the facts.
func (a *activation) Parent() cel.Activation { return nil }

func (a *activation) value(i int) ref.Val {
	if a.values == nil {
		a.values = make([]ref.Val, len(facts))
	}
	if v := a.values[i]; v != nil {
		return v
	}
	f := &facts[i]
	v := ref.Val(nil)
	if f.result && a.facts.Response == nil {
		v = types.NewErr("%s is not known: there is no result", f.name)
	} else {
		v = f.get(a)
	}
	a.values[i] = v
	return v
}

// regulated starts the name of a class of regulated data whose regime is named.
const regulated = string(label.Regulated) + ":"

// facts is the vocabulary; factIndex finds a name in it; traced are names in it. None changes.
var (
	facts     = vocabulary()
	factIndex = indexFacts(facts)
	traced    = TracedFacts()
)

// TracedFacts returns the names of the facts that are known only if the arguments were traced.
func TracedFacts() (names []string) {
	for i := range facts {
		if facts[i].ofTrace {
			names = append(names, facts[i].name)
		}
	}
	return names
}

func vocabulary() []fact {
	return slices.Clip(slices.Concat(
		requestFacts, contractFacts(places[0]), contractFacts(places[1]),
		toolFacts, responseFacts, responseFindings, sessionFacts, serverFacts, callFacts, argumentFacts, callFindings,
	))
}

func indexFacts(all []fact) map[string]int {
	index := make(map[string]int, len(all))
	for i := range all {
		index[all[i].name] = i
	}
	return index
}

// FactNames returns the names of all facts, sorted.
func FactNames() []string {
	names := make([]string, len(facts))
	for i := range facts {
		names[i] = facts[i].name
	}
	slices.Sort(names)
	return names
}

// StandingOf returns how an analysis treats the fact of this name; 0 if there is none.
func StandingOf(name string) Standing {
	i, ok := factIndex[name]
	if !ok {
		return 0
	}
	return facts[i].standing
}

// requestFacts are the session's label as it goes up with the request (SEP-1913, Tool Call Request Extension).
var requestFacts = []fact{
	boolean(about{"request.annotations.openWorldHint", Settled,
		"`session.untrusted`, under the name that SEP-1913 gives it in a request"},
		func(a *activation) bool { return a.session().Untrusted }),
	texts(about{"request.annotations.attribution", Open, "`session.attribution`, likewise"}, nil,
		func(a *activation) ref.Val { return list(a.session().Attribution) }),
}

// toolFacts are the name of a tool and the members that are stated of it.
var toolFacts = []fact{
	text(about{"tool.name", Narrowed,
		"as the server calls it; for a resource its URI, for a prompt its name, for a [question of the " +
			"server](#questions-of-servers) its method"}, nil, func(f *Facts) *string { return &f.Tool.Name }).unrecorded().ofTool(),
	texts(about{"tool.declares", Narrowed, "the members that the server declares"}, memberNames(),
		func(a *activation) ref.Val { return list(declares(&a.facts.Tool.Declared)) }).ofTool(),
}

// responseFacts are the label of the result (SEP-1913, Tool Call Result Extension).
var responseFacts = responses([]fact{
	flag(about{"response.annotations.private", Settled, "it is not for everyone"},
		func(f *Facts) *bool { return &f.Response.Private }),
	set(about{"response.annotations.sensitivity", Settled, "the classes of sensitivity in it"}, classNames,
		func(f *Facts) *label.Set[label.Class] { return &f.Response.Sensitivity }),
	set(about{"response.annotations.sources", Settled, "where it comes from"}, sourceNames,
		func(f *Facts) *label.Set[label.Source] { return &f.Response.Sources }),
	set(about{"response.annotations.attribution", Open, "URIs of its origins"}, nil,
		func(f *Facts) *label.Set[string] { return &f.Response.Attribution }),
	flag(about{"response.annotations.openWorldHint", Settled, "anyone could have written it"},
		func(f *Facts) *bool { return &f.Response.Untrusted }),
	flag(about{"response.annotations.maliciousActivityHint", Settled, "it was reported as malicious"},
		func(f *Facts) *bool { return &f.Response.Malicious }),
	set(about{"response.outside", Open,
		"the members of the description of the tool (`tool.declared`) that the result is outside of, by its own annotations or by " +
			"[findings](detection.md#behaviour) in it"}, memberNames(),
		func(f *Facts) *label.Set[string] { return &f.ResponseOutside }),
	set(about{"response.changed", Open,
		"in which ways the result is unlike all that agents got from the tool before, `size` and `shape`, once there were five; " +
			"see [behaviour](detection.md#behaviour)"}, []string{"size", "shape"},
		func(f *Facts) *label.Set[string] { return &f.ResponseChanged }),
	flag(about{"response.isError", Open, "the server says that the call went wrong"},
		func(f *Facts) *bool { return &f.ResponseError }),
})

// sessionFacts are the session's label, which events have of their own, and its history.
var sessionFacts = []fact{
	flag(about{"session.private", Settled, "it holds data that is not for everyone"},
		func(f *Facts) *bool { return &f.Session.Label.Private }).unrecorded(),
	set(about{"session.sensitivity", Settled, "the classes of sensitivity in it"}, classNames,
		func(f *Facts) *label.Set[label.Class] { return &f.Session.Label.Sensitivity }).unrecorded(),
	set(about{"session.sources", Settled, "the sources in it; the values of `returnMetadata.source`"}, sourceNames,
		func(f *Facts) *label.Set[label.Source] { return &f.Session.Label.Sources }).unrecorded(),
	set(about{"session.attribution", Open, "URIs of its origins"}, nil,
		func(f *Facts) *label.Set[string] { return &f.Session.Label.Attribution }).unrecorded(),
	readers(about{"session.readers", Open,
		"groups of [readers](configuration.md#readers) who may read all private data in it; empty if nobody but the user may, " +
			"or nothing is known"}),
	text(about{"session.id", Open, "the key of the session"}, nil, func(f *Facts) *string { return &f.Session.ID }).unrecorded(),
	text(about{"session.parent", Open, "the key of the session that began this one; empty if none did"}, nil,
		func(f *Facts) *string { return &f.Session.Parent }),
	flag(about{"session.untrusted", Settled, "it holds data that anyone could have written"},
		func(f *Facts) *bool { return &f.Session.Label.Untrusted }).unrecorded(),
	flag(about{"session.malicious", Settled, "something in it was reported as malicious"},
		func(f *Facts) *bool { return &f.Session.Label.Malicious }).unrecorded(),
	boolean(about{"session.credentials", Settled, "`\"credentials\" in session.sensitivity`"},
		func(a *activation) bool { return a.session().Sensitivity.Has(label.Credentials) }),
	count(about{"session.calls", Open, "calls made before this one"},
		func(f *Facts) *int { return &f.Session.Calls }),
	count(about{"session.sent", Open,
		"calls made before this one that could carry something out; of those that another process decided on, all"},
		func(f *Facts) *int { return &f.Session.Sent }),
	count(about{"session.recent", Open,
		"calls made in the last minute, up to 64; those that another process decided on count from the moment that this one sees them"},
		func(f *Facts) *int { return &f.Session.Recent }),
	count(about{"session.burst", Open,
		"calls in the last minute that are no plain read and were made after the session had read untrusted content; of calls of this process alone"},
		func(f *Facts) *int { return &f.Session.Burst }),
	count(about{"session.reached", Open,
		"destinations and sites to which a call that an outsider may learn of went for the first time after the session had " +
			"read untrusted content, up to 64; of calls of this process alone"},
		func(f *Facts) *int { return &f.Session.Reached }),
	count(about{"session.looked", Open,
		"bits of hidden values that the agent was told, by [typed looks](patterns.md#typed-looks), handles with pointers, returned values and " +
			"programs, with those of this call"},
		func(f *Facts) *int { return &f.Session.Looked }),
	flag(about{"session.userWords", Open,
		"the host has passed on the user's words; see [the user's words](#the-users-words)"},
		func(f *Facts) *bool { return &f.Session.UserWords }),
	sinceUser(about{"session.sinceUser", Open,
		"seconds since the user's last message; `has(session.sinceUser)` asks whether there was one"}),
	texts(about{"session.trifecta", Open,
		"which of the three have come together that an attacker needs: `private`, `untrusted`, and `sent` if " +
			"something went out"}, legNames, func(a *activation) ref.Val { return list(a.legs()) }),
}

// serverFacts are the operator's words on the server.
var serverFacts = []fact{
	text(about{"server.name", Named, "as the configuration calls it"}, nil,
		func(f *Facts) *string { return &f.Server.Name }).unrecorded().ofTool(),
	serverTrust(about{"server.trust", Settled, "`untrusted`, `known` or `trusted`"}).ofTool(),
}

// callFacts are the call as it stands in the message and in its overlay.
var callFacts = []fact{
	text(about{"call.method", Settled,
		"`tools/call`, `resources/read`, `prompts/get`; for a [question of the server](#questions-of-servers) " +
			"`elicitation/create`, `sampling/createMessage` or `roots/list`"}, methodNames,
		func(f *Facts) *string { return &f.Method }).unrecorded().ofTool(),
	callName(about{"call.name", Named, "`tool.name`"}),
	boolean(about{"call.byAgent", Chosen,
		"the agent chose the arguments: not the answers that a person types for a server, and not the host's " +
			"folders"}, (*activation).byAgent).ofTool(),
	boolean(about{"call.plainRead", Narrowed,
		"the call changes nothing, by the contract that counts: `tool.annotations.readOnlyHint`, and never an " +
			"answer to a [question of the server](#questions-of-servers)"}, (*activation).plainRead).ofTool(),
	hasArguments(about{"call.hasArguments", Chosen, "there is at least one argument"}),
	stated(about{destinationsFact, Open,
		"the arguments that say where something goes: addresses, URLs, channels"},
		func(f *Facts) ([]string, bool) { return textsOf(f.Roles.Destinations), f.Roles.Known && !f.Roles.Cut },
		func(g *ParsedFacts, to []string) {
			g.Roles.Known = true
			for _, s := range to {
				g.Roles.Destinations = append(g.Roles.Destinations, Argument{Text: s})
			}
		}),
	stated(about{"call.reads", Open, "URIs of the resources that the call reads"},
		func(f *Facts) ([]string, bool) { return f.Resources.Reads, f.Resources.Known },
		func(g *ParsedFacts, from []string) { g.Resources.Known, g.Resources.Reads = true, from }),
	stated(about{"call.writes", Open, "URIs of the resources that the call writes"},
		func(f *Facts) ([]string, bool) { return f.Resources.Writes, f.Resources.Known },
		func(g *ParsedFacts, to []string) { g.Resources.Known, g.Resources.Writes = true, to }),
	{about: about{expression.Arguments, Open, "the arguments; their shape is known only when the call comes"},
		typ: cel.MapType(cel.StringType, cel.DynType),
		get: func(a *activation) ref.Val { return expression.DecodeArguments(a.facts.Arguments) },
		set: func(g *ParsedFacts, v any) error {
			text, _ := v.(string)
			g.Arguments = []byte(text)
			return ofType[string](v, "the JSON text of an object")
		}},
}

// callName is tool.name under another name, from which it follows.
func callName(f about) fact {
	out := text(f, nil, func(f *Facts) *string { return &f.Tool.Name }).unrecorded().ofTool()
	out.set = nil
	return out
}

// hasArguments is whether there is any argument. Given without them, it stands for arguments of which nothing is known.
func hasArguments(f about) fact {
	out := boolean(f, func(a *activation) bool { return hasMembers(a.facts.Arguments) })
	out.set = func(g *ParsedFacts, v any) error {
		if v == true && g.Arguments == nil {
			g.Arguments = []byte(`{"?":null}`)
			g.Hidden = append(g.Hidden, expression.Arguments)
		}
		return ofType[bool](v, "true or false")
	}
	out.encode = func(e *encoder) { e.flag(f.name, hasMembers(e.facts.Arguments)) }
	return out
}

func textsOf(arguments []Argument) []string {
	out := make([]string, len(arguments))
	for i, a := range arguments {
		out[i] = a.Text
	}
	return out
}
