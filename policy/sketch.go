package policy

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/expression"
	"github.com/weir-mcp/weir/label"
)

// Sketch returns what of the facts may be written down, as the JSON text of an object that [ReadSketch] reads. It has no argument of
// the call: of the sets that hold some, their sizes. It leaves out what [Give] gives without being told, and what an event of package
// record says elsewhere: the moment, the names of method, tool, server and session, and the session's label.
func (f *Facts) Sketch() []byte {
	s := sketch{append(make([]byte, 0, 512), '{')}
	s.word("server.trust", f.Server.Trust.String(), contract.Untrusted.String())
	s.word("session.parent", f.Session.Parent, "")
	s.number("session.calls", f.Session.Calls)
	s.number("session.sent", f.Session.Sent)
	s.number("session.recent", f.Session.Recent)
	s.flag("session.userWords", f.Session.UserWords)
	if f.Session.UserWords {
		s.number("session.sinceUser", int(f.Session.SinceUser/time.Second))
	}
	s.flag("call.hasArguments", hasMembers(f.Arguments))
	s.stated("call.destinations", textsOf(f.Roles.Destinations), f.Roles.Known && !f.Roles.Cut)
	s.stated("call.reads", f.Resources.Reads, f.Resources.Known)
	s.stated("call.writes", f.Resources.Writes, f.Resources.Known)
	if f.Call.Traced {
		s.call(&f.Call)
	}
	if f.Response != nil {
		s.label("response.annotations.", f.Response)
		s.flag("response.annotations.openWorldHint", f.Response.Untrusted)
		s.flag("response.annotations.maliciousActivityHint", f.Response.Malicious)
		s.flag("response.isError", f.ResponseError)
	}
	s.contract("tool.declared.", &f.Tool.Declared, &contract.Contract{})
	follows := contract.Effective(f.Tool.Declared, f.Server.Trust)
	s.contract(annotations, &f.Tool.Annotations, &follows)
	return append(s.text, '}')
}

// A sketch is a JSON object that is being written.
type sketch struct{ text []byte }

func (s *sketch) name(name string) {
	if len(s.text) > 1 {
		s.text = append(s.text, ',')
	}
	s.text = append(append(append(s.text, '"'), name...), `":`...)
}

func (s *sketch) flag(name string, set bool) {
	if set {
		s.name(name)
		s.text = append(s.text, "true"...)
	}
}

func (s *sketch) number(name string, n int) {
	if n != 0 {
		s.name(name)
		s.text = strconv.AppendInt(s.text, int64(n), 10)
	}
}

func (s *sketch) count(name string, n int) {
	s.name(name)
	s.text = strconv.AppendInt(s.text, int64(n), 10)
}

func (s *sketch) quote(text string) {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) }) {
		s.text = append(append(append(s.text, '"'), text...), '"')
		return
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		quoted = []byte(`""`) // no text is refused
	}
	s.text = append(s.text, quoted...)
}

func (s *sketch) word(name, text, without string) {
	if text != without {
		s.name(name)
		s.quote(text)
	}
}

// stated writes the size of a set that only an overlay makes known.
func (s *sketch) stated(name string, texts []string, known bool) {
	if known {
		s.name(name)
		s.text = strconv.AppendInt(s.text, int64(measure(label.SetOf(texts...))), 10)
	}
}

// measure returns how many elements a set has; of one that rules cannot read, because an element is too long, too many to be
// read.
func measure(set label.Set[string]) int {
	for item := range set.All() {
		if len(item) > expression.MaxText {
			return maxHidden
		}
	}
	return min(set.Len(), maxHidden)
}

func (s *sketch) call(c *CallFacts) {
	s.word("call.roles", map[bool]string{true: "stated", false: "drafted"}[c.Stated], "")
	writeSet(s, "call.from", c.From)
	writeSet(s, "call.small.from", c.SmallFrom)
	writeSet(s, "call.destination.from", c.DestinationFrom)
	writeSet(s, "call.content.from", c.ContentFrom)
	s.number("call.destination.values", measure(c.Destinations))
	s.number("call.destination.hosts", measure(c.Hosts))
	s.flag("call.destination.own", c.Own)
	s.flag("call.destination.first", c.First)
	s.flag("call.destination.strange", c.Strange)
	s.flag("call.content.links", c.Links)
	s.flag("call.content.orders", c.Orders)
	s.flag("call.content.identifies", c.Identifies)
	s.flag("call.links.made", c.MadeLinks)
	s.count("call.leak.bits", c.Leak) // also if it is none, which is not what is taken for granted
	s.count("call.leak.total", c.Total)
	s.flag("call.named", c.Named)
	s.flag("call.verbatim", c.Verbatim)
	s.flag("call.crosses", c.Crosses)
}

func (s *sketch) label(prefix string, l *label.Label) {
	s.flag(prefix+"private", l.Private)
	writeSet(s, prefix+"sensitivity", l.Sensitivity)
	writeSet(s, prefix+"sources", l.Sources)
	writeSet(s, prefix+"attribution", l.Attribution)
}

// contract writes in what a contract is not the other one.
func (s *sketch) contract(prefix string, c, other *contract.Contract) {
	if c.Equal(*other) {
		return
	}
	for _, members := range [...][]contractHint{classicHints, hintMembers} {
		for _, m := range members {
			if h := *m.of(c); h != *m.of(other) {
				s.name(prefix + m.name)
				s.text = append(s.text, [...]string{"null", "false", "true"}[min(h, contract.Yes)]...)
			}
		}
	}
	writeValues(s, prefix+"inputMetadata.destination", c.Destinations, other.Destinations)
	writeValues(s, prefix+"inputMetadata.sensitivity", c.Accepts, other.Accepts)
	writeValues(s, prefix+"inputMetadata.outcomes", c.Outcomes, other.Outcomes)
	writeValues(s, prefix+"returnMetadata.source", c.Sources, other.Sources)
	writeValues(s, prefix+"returnMetadata.sensitivity", c.Returns, other.Returns)
	if !c.Attribution.Equal(other.Attribution) {
		s.list(prefix+"attribution", c.Attribution.Slice())
	}
}

func (s *sketch) list(name string, texts []string) {
	s.name(name)
	s.text = append(s.text, '[')
	for i, text := range texts {
		if i > 0 {
			s.text = append(s.text, ',')
		}
		s.quote(text)
	}
	s.text = append(s.text, ']')
}

func writeSet[T ~string](s *sketch, name string, set label.Set[T]) {
	if set.Len() > 0 {
		s.list(name, convert[string](set.Slice()))
	}
}

func writeValues[T ~string](s *sketch, name string, v, other contract.Values[T]) {
	if v.Equal(other) {
		return
	}
	set, known := v.Known()
	if !known {
		s.name(name)
		s.text = append(s.text, "null"...)
		return
	}
	s.list(name, convert[string](set.Slice()))
}

// ReadSketch returns the values that [Facts.Sketch] wrote.
func ReadSketch(text []byte) (Values, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	v := make(Values, len(raw))
	for name, member := range raw {
		var value any
		if err := json.Unmarshal(member, &value); err != nil {
			return nil, err
		}
		switch x := value.(type) {
		case float64:
			if value = int(x); float64(int(x)) != x {
				value = nil
			}
		case []any:
			value = textsIn(x)
		}
		v[name] = value
	}
	return v, nil
}

// textsIn returns the list if all of it are texts.
func textsIn(list []any) any {
	texts := make([]string, 0, len(list))
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return list
		}
		texts = append(texts, s)
	}
	return slices.Clip(texts)
}
