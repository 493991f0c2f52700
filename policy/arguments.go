package policy

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// The worst values of facts that are true or false.
const (
	no  = types.False
	yes = types.True
)

// argumentFacts describe the parts that arguments play, and the origin of their values. Where the arguments were not
// traced, each has the worst value.
var argumentFacts = []fact{
	boolean(about{"call.egress", Both, "an outsider may learn of the call; see [egress](#egress)"}, (*activation).egress),
	crosses(about{"call.crosses", Chosen,
		"credentials may get from one server to another: the session holds some, not all of them came from " +
			"the server of this call as far as Weir knows, and a value is neither, as a whole, the user's nor a " +
			"trusted source's that is not private, or there is more beside the values, as for `call.verbatim`; " +
			"not a plain read in a closed world whose destination is `ephemeral`; or the server has been told more than 64 bits by " +
			"calls that each tell next to nothing, since the session read untrusted content or a person last " +
			"accepted one"}),
	flag(about{"call.verbatim", Chosen,
		"there is a value, each is, as a whole, one piece of the user's words, and there is next to nothing " +
			"beside them: no name that the schema does not declare, at most 16 bits in the spelling of the " +
			"arguments, in empty and in repeated values, at most 256 in all"},
		func(f *Facts) *bool { return &f.Call.Verbatim }).traced(no),
	roles(about{"call.roles", Open,
		"`stated` if an [overlay](overlays.md) says which arguments are destinations and contents, or a person has " +
			"[confirmed](lint.md#confirmed-arguments) it and the user's words name each destination, else `drafted`"}),
	kinds(about{"call.from", Chosen, "kinds of all values but the small ones"},
		func(f *Facts) *label.Set[string] { return &f.Call.From }),
	kinds(about{"call.small.from", Chosen, "kinds of the small values"},
		func(f *Facts) *label.Set[string] { return &f.Call.SmallFrom }),
	kinds(about{"call.destination.from", Chosen,
		"kinds of the values that say where something goes, `novel` among them unless each is one piece of " +
			"one source"}, func(f *Facts) *label.Set[string] { return &f.Call.DestinationFrom }),
	kept(about{"call.destination.values", Chosen, "these values"},
		func(f *Facts) *label.Set[string] { return &f.Call.Destinations }).traced(nil),
	kept(about{"call.destination.hosts", Chosen,
		"the hosts and mail domains in them, of each address of a list, in the form of `url.host`; `?` for " +
			"one that programs could take to different places, beside all of these"},
		func(f *Facts) *label.Set[string] { return &f.Call.Hosts }).traced(nil),
	flag(about{"call.destination.own", Chosen,
		"all of them, and each address of a list, are in the operator's own `domains`; one that programs " +
			"could take to different places is not"}, func(f *Facts) *bool { return &f.Call.Own }).traced(no),
	flag(about{"call.destination.local", Chosen,
		"each of them, and each address of a list, is at `localhost` or a loopback address: the server's own machine"},
		func(f *Facts) *bool { return &f.Call.Local }).traced(no),
	flag(about{"call.destination.self", Chosen,
		"each of them is a recipient (`to`, `cc`, `bcc`, `recipient`) and one of the user's own mail addresses, as `me` in " +
			"the configuration lists them, and nothing else, the server is known or trusted, an overlay states every value's " +
			"part, no other member is in the arguments, not even an empty one, and the other values hold no markup and, but for " +
			"a body, no separators of lines"},
		func(f *Facts) *bool { return &f.Call.Self }).traced(no),
	flag(about{"call.destination.readable", Chosen,
		"the session holds private data, each of them is a recipient or a place in `session.readers` or one of the user's own " +
			"mail addresses, the server is known or trusted, an overlay states every value's part and that the call " +
			"reads no resource, no other member is in the arguments, not even an empty one, and the other values hold no " +
			"markup and, but for a body, no separators of lines"},
		func(f *Facts) *bool { return &f.Call.Readable }).traced(no),
	flag(about{"call.destination.first", Open,
		"the session has not sent anything to one of them before, but for requests that only read, as far as this process, or this `weir wrap`, has seen"},
		func(f *Facts) *bool { return &f.Call.First }).traced(yes),
	flag(about{"call.destination.strange", Open,
		"one of them is at a site that only an outsider can have named: it is not, as a whole, the user's or " +
			"a trusted source's, its host stands in no URL that the user wrote and is not in `domains`, and no " +
			"earlier request of the session went to that host"}, func(f *Facts) *bool { return &f.Call.Strange }).traced(yes),
	kinds(about{"call.content.from", Open,
		"kinds of the values that go there, but the small ones; an argument that no overlay speaks of is one"},
		func(f *Facts) *label.Set[string] { return &f.Call.ContentFrom }),
	flag(about{"call.content.links", Open,
		"they hold a link, an address, an account or a telephone number, also as it is printed or spelled, or " +
			"a line that a mail program takes for a header, that neither the user nor a trusted source wrote and " +
			"that is not in `domains` or `me`"},
		func(f *Facts) *bool { return &f.Call.Links }).traced(yes),
	flag(about{"call.content.orders", Open,
		"one goes, with a link as above, into an agent's memory (`memory:` in `call.writes`), or into a " +
			"document of prose and holds words that tell a reader to do something"},
		func(f *Facts) *bool { return &f.Call.Orders }).traced(no),
	flag(about{"call.content.identifies", Open,
		"a value, of whatever part, holds two words of a name, an address or a number of five digits that is " +
			"known from private data"}, func(f *Facts) *bool { return &f.Call.Identifies }).traced(no),
	flag(about{"call.links.made", Open,
		"a value, be it a destination or content, holds the address of a site that stands nowhere, as it is, " +
			"in the user's words or in data that the session has read, and that is not in `domains`; or it mentions, as in " +
			"`@eve@example.com`, an address that is one of `call.content.links`"},
		func(f *Facts) *bool { return &f.Call.MadeLinks }).traced(yes),
	bits(about{"call.leak.bits", Chosen,
		"how many bits the call can tell whoever learns of it, by the choice of its arguments beside the " +
			"user's words: see [provenance](provenance.md#how-much-a-call-can-tell). 1048576 at most, and where " +
			"nothing is known"}, func(f *Facts) *int { return &f.Call.Leak }),
	bits(about{"call.leak.total", Chosen,
		"the same with all calls to the same receiver since the session has read untrusted content, or since " +
			"a person last accepted one of them"}, func(f *Facts) *int { return &f.Call.Total }),
	flag(about{"call.named", Chosen,
		"the user's wishes, which forbid and quote nothing, hold the verb in the tool's name or an everyday " +
			"word for it, as a word of its own"}, func(f *Facts) *bool { return &f.Call.Named }).traced(no),
}

// MostBits is the largest value of call.leak.bits and call.leak.total, and theirs where nothing is known.
const MostBits = 1 << 20

// bits is a number of bits. Zero is recorded too: it is not the value of facts without a record.
func bits(f about, of func(*Facts) *int) fact {
	out := count(f, of)
	out.get = func(a *activation) ref.Val { return types.Int(min(*of(&a.facts), MostBits)) }
	out.encode = func(e *encoder) { e.count(f.name, *of(e.facts)) }
	return out.traced(types.Int(MostBits))
}

// kinds is a set of kinds of provenance. Values that were not traced may be of every kind but user and trusted.
func kinds(f about, of func(*Facts) *label.Set[string]) fact {
	return set(f, kindNames, of).traced(list(label.SetOf("novel", "private", "untrusted")))
}

// kept is a set whose size is recorded, and not its elements.
func kept(f about, of func(*Facts) *label.Set[string]) fact {
	out := set(f, nil, of)
	out.set = func(g *ParsedFacts, v any) error {
		texts, err := g.elements(f.name, v)
		*of(&g.Facts) = label.SetOf(texts...)
		return err
	}
	out.encode = func(e *encoder) { e.number(f.name, measure(*of(e.facts))) }
	return out
}

// roles is whether the operator has stated the parts of the arguments. To tell it of a call, nothing has to be traced.
func roles(f about) fact {
	word := func(stated bool) string { return map[bool]string{true: "stated", false: "drafted"}[stated] }
	out := fact{about: f, typ: cel.StringType, values: roleNames,
		set: func(g *ParsedFacts, v any) error {
			g.Call.Stated = v == "stated"
			return ofType[string](v, "a text")
		},
		encode: func(e *encoder) { e.word(f.name, word(e.facts.Call.Stated), "") }}.traced(nil)
	out.get = func(a *activation) ref.Val {
		call := &a.facts.Call
		return types.String(word(a.facts.Trace != nil && a.facts.Roles.Known || call.Traced && call.Stated))
	}
	return out
}

// crosses follows from other facts and from the traced arguments, which is the part that is given and recorded.
func crosses(f about) fact {
	out := flag(f, func(f *Facts) *bool { return &f.Call.Crosses }).traced(types.False)
	out.get = func(a *activation) ref.Val { return types.Bool(a.crosses()) }
	return out
}

// PlainRead reports whether the call only reads, as the fact call.plainRead says.
func (f *Facts) PlainRead() bool {
	return f.Tool.Annotations.ReadOnly == contract.Yes // which is assumed of no contract
}

// Egress reports whether somebody outside may learn of the call, as the fact call.egress says.
func (f *Facts) Egress() bool {
	if !f.goesOut() {
		return false
	}
	if assumed(&f.Tool.Annotations) {
		return f.Tool.Annotations.Discloses()
	}
	return f.Tool.Annotations.Assume().Discloses()
}

// goesOut reports whether the call tells its receivers something that the agent chose.
func (f *Facts) goesOut() bool {
	return f.byAgent() && (!f.PlainRead() || f.Server.Trust == contract.Untrusted || hasMembers(f.Arguments))
}

// byAgent reports whether the agent chose the content that goes out. Text that a person types for a server, and the
// folders that the host has open, are answers that no agent wrote.
func (f *Facts) byAgent() bool { return f.Method != "elicitation/create" && f.Method != "roots/list" }
