package approval

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// Bounds of the text that a prompt shows uncut, and that a listing shows, in characters. A call with more than a
// listing can hold cannot be approved.
const (
	maxFull    = 6000
	maxListing = 256 << 10
)

// A member is one argument of a call.
type member struct {
	name, value string
	named       bool // all of it is the user's own words
}

// members returns the arguments of the call, those first that the user has not written.
func members(q *guard.Question) []member {
	args, ok := rawjson.Get(q.Arguments, "arguments")
	if !ok {
		args = q.Arguments // of a method that has no member of that name
	}
	var all []member
	for name, value := range rawjson.Members(args) {
		all = append(all, member{name, string(value), !q.Cut && isNamed(q.Values, name)})
	}
	if ok { // an approval covers the other params, too
		for name, value := range rawjson.Members(q.Arguments) {
			if name != "arguments" && name != "name" {
				all = append(all, member{"params." + name, string(value), false})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b member) int { return order(a.named) - order(b.named) })
	return all
}

func order(named bool) int {
	if named {
		return 1
	}
	return 0
}

// isNamed reports whether every value of an argument is the user's own words. An argument without a traced value is
// not.
func isNamed(values []trace.Value, name string) bool {
	found := false
	for _, v := range values {
		rest, ok := strings.CutPrefix(v.Path, name)
		if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		if found = true; !v.From.Only(provenance.User) {
			return false
		}
	}
	return found
}

// arguments shows the arguments: each of them cut, and uncut at the end of the prompt those that are long and that the
// user has not written. The rest is unseen.
func (p *Prompt) arguments(q *guard.Question) {
	p.Listed = true
	left, missing := maxFull, 0
	for i, m := range members(q) {
		name := plain.Quote(m.name, maxName)
		size := utf8.RuneCountInString(m.value) + utf8.RuneCountInString(m.name)
		if i >= maxArguments {
			if left -= size; left >= 0 {
				p.Full = append(p.Full, Argument{name, plain.Text(m.value, 0)})
			} else {
				missing += size
			}
			continue
		}
		p.Arguments = append(p.Arguments, Argument{name, plain.Text(m.value, maxValue)})
		if m.named || size <= maxValue && len(m.name) <= maxName {
			continue
		}
		if left -= size; left >= 0 {
			p.Full = append(p.Full, Argument{plain.Quote(m.name, 0), plain.Text(m.value, 0)})
		} else {
			missing += size
		}
	}
	if missing > 0 {
		p.unseen(fmt.Sprintf("%d characters of the arguments", missing))
	}
}

// destinations shows where the call goes, the destinations first that the user has not named.
func (p *Prompt) destinations(q *guard.Question) {
	var all []trace.Value
	for _, v := range q.Values {
		if v.Destination && v.From != 0 {
			all = append(all, v)
		}
	}
	p.Guessed = len(q.To) == 0
	for _, to := range q.To {
		if !slices.ContainsFunc(all, func(v trace.Value) bool { return v.Argument.Path == to.Path }) {
			all = append(all, trace.Value{Argument: policy.Argument(to)})
		}
	}
	slices.SortStableFunc(all, func(a, b trace.Value) int {
		return order(a.From.Only(provenance.User)) - order(b.From.Only(provenance.User))
	})
	for i, v := range all {
		if i == maxTo {
			p.unseen(fmt.Sprintf("%d destinations", len(all)-i))
			break
		}
		p.To = append(p.To, target(v.Text)+named(v.Listed, q.Server))
		if len(all) > 1 {
			p.ToFrom = append(p.ToFrom, shortOrigin(v))
		}
	}
}

// targets returns the destinations, each with its origin.
func (p *Prompt) targets() []string {
	all := slices.Clone(p.To)
	for i, from := range p.ToFrom {
		if from != "" && i < len(all) {
			all[i] += " (" + from + ")"
		}
	}
	return all
}

// named says the name that a server lists for an id, as its claim.
func named(l trace.Listed, server string) string {
	if l.Name == "" {
		return ""
	}
	by := plain.Quote(l.Tool, maxName) + " of " + plain.Text(server, maxName)
	if l.Untrusted {
		by = "untrusted content of " + by
	}
	return fmt.Sprintf(" (%s, says %s)", plain.Quote(l.Name, maxName), by)
}

// target quotes a destination. The addresses in one that is cut are named: its middle may be the part that counts.
func target(text string) string {
	quoted := plain.Quote(text, maxValue)
	if utf8.RuneCountInString(text) <= maxValue {
		return quoted
	}
	var names []string
	for _, place := range address.Find(text) {
		if name := plain.Text(cmp.Or(place.Host, place.Name, place.Text), maxName); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return quoted
	}
	return quoted + " (in it: " + few(names) + ")"
}

func (p *Prompt) unseen(part string) {
	if p.Unseen != "" {
		part = p.Unseen + ", " + part
	}
	p.Unseen = part
}

// A Listing is everything that a prompt does not show, with the code that a yes needs. The zero Listing is that of a
// prompt that shows everything.
type Listing struct {
	Arguments []Argument `json:"arguments,omitempty"`
	Code      string     `json:"code,omitempty"` // at its end; "" with an unseen part means that no yes counts
}

// NewListing returns the listing for a question with this prompt.
func NewListing(q *guard.Question, p Prompt) (l Listing) {
	if p.Unseen == "" || len(q.Arguments) > maxListing {
		return Listing{}
	}
	for _, m := range members(q) {
		l.Arguments = append(l.Arguments, Argument{plain.Quote(m.name, 0), plain.Text(m.value, 0)})
	}
	l.Code = rand.Text()[:4]
	return l
}

// Text returns the listing as lines, of which no one else's text begins one.
func (l Listing) Text() string {
	if l.Code == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("All arguments:\n")
	for _, a := range l.Arguments {
		fmt.Fprintf(&b, "  %s = %s\n", a.Name, a.Value)
	}
	b.WriteString("The code of this request is " + l.Code + ".\n")
	return b.String()
}

// Bounds of the origins of values in a prompt.
const (
	maxValues  = 8
	maxSources = 2 // of a value
)

// values lists the origins of the arguments, the destinations first, and the words of the user.
func (p *Prompt) values(q *guard.Question) {
	n := 0
	for _, destinations := range []bool{true, false} {
		for _, v := range q.Values {
			if v.Destination != destinations || v.From == 0 {
				continue
			}
			if n++; n <= maxValues {
				p.Values = append(p.Values, plain.Quote(v.Path, maxName)+goal(v)+": "+origin(v))
			}
		}
	}
	if n > maxValues {
		p.Values = append(p.Values, fmt.Sprintf("and %d more values", n-maxValues))
	}
	if q.Leak != "" {
		p.Values = append(p.Values, q.Leak)
	}
	if q.UserWords != "" {
		p.User = plain.Quote(q.UserWords, maxValue)
	}
}

func goal(v trace.Value) string {
	if v.Destination {
		return " (where it goes)"
	}
	return ""
}

// origin says in words where a value comes from.
func origin(v trace.Value) string {
	var parts []string
	add := func(kind provenance.Kinds, text string) {
		if v.From&kind != 0 {
			parts = append(parts, text+sources(v, kind))
		}
	}
	add(provenance.User, "the user's own words")
	add(provenance.Untrusted, "untrusted content")
	add(provenance.Private, "private data")
	if v.From&provenance.Private == 0 {
		add(provenance.Trusted, "a trusted source")
	}
	add(provenance.Novel, "the agent's own words, or reworded")
	return strings.Join(parts, "; ")
}

// shortOrigin is origin, without the sources if these are too long for a line about several values.
func shortOrigin(v trace.Value) string {
	text := origin(v)
	if utf8.RuneCountInString(text) > maxValue {
		v.Matches = nil
		text = origin(v)
	}
	return text
}

// sources names where pieces of the kind stand.
func sources(v trace.Value, kind provenance.Kinds) string {
	if kind == provenance.User || kind == provenance.Novel {
		return ""
	}
	seen := map[string]bool{}
	var names []string
	for _, m := range v.Matches {
		if m.Source.Kinds&kind != 0 && !seen[m.Source.URI] {
			seen[m.Source.URI] = true
			names = append(names, plain.Text(m.Source.URI, maxName))
		}
	}
	if len(names) > maxSources {
		names = append(names[:maxSources], fmt.Sprintf("%d more", len(names)-maxSources))
	}
	if len(names) == 0 {
		return ""
	}
	return ", " + strings.Join(names, " and ")
}
