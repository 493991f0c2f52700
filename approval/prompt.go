// Package approval puts approval requests of the guard into words, for hosts that ask their users themselves.
//
//	text := approval.NewPrompt(question).Text()
//
// The words are those of the gateway: the effects of the call come first, text of servers and of the agent is quoted,
// and nothing in it can hide, reorder or imitate the rest. A prompt with [Prompt.Unseen] leaves arguments out; show its
// [Listing] too, and take a yes with its code only.
package approval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
)

// Bounds of the parts of a prompt, in characters and lines: a long argument must not push the reason out of sight.
const (
	maxName      = 80
	maxValue     = 240
	maxArguments = 24
	maxOrigins   = 6
	maxTo        = 24
	maxRefined   = 4
	maxHint      = 1000 // it may hold a command
	maxAlert     = 500  // longer than each is
)

// A Prompt is a question in words, in the order in which a user should read it. Text of a server or the agent is
// quoted, cut in the middle with its length, and every character that could hide, reorder or imitate text is made
// visible (package plain); nothing of it comes first. Every channel shows this and nothing else, as plain text.
type Prompt struct {
	Lead      string     `json:"lead"`              // the effects of the call, and where its arguments would go
	To        []string   `json:"to,omitempty"`      // the destinations, those first that the user has not named
	Guessed   bool       `json:"guessed,omitempty"` // whether only the names of arguments tell that they are destinations
	Subject   string     `json:"subject,omitempty"` // which tool, prompt or resource of which server
	Arguments []Argument `json:"arguments,omitempty"`
	Listed    bool       `json:"listed,omitempty"`  // whether it has arguments to speak of, or none
	Full      []Argument `json:"full,omitempty"`    // long arguments that the user has not written, uncut
	Unseen    string     `json:"unseen,omitempty"`  // the parts that are not shown; "" if everything is
	Refined   []string   `json:"refined,omitempty"` // the refinements of overlays for these arguments
	Values    []string   `json:"values,omitempty"`  // where the arguments come from
	User      string     `json:"user,omitempty"`    // words of the user, quoted
	Reasons   []string   `json:"reasons"`           // why it is asked
	Origins   []string   `json:"origins,omitempty"`
	Note      string     `json:"note"` // the meaning of an answer
}

// An Argument is one argument of a call, quoted.
type Argument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// NewPrompt puts the question into words.
func NewPrompt(q *guard.Question) Prompt {
	p := Prompt{Reasons: []string{fmt.Sprintf("%s (rule %s)", plain.Text(q.Message, maxValue), plain.Text(q.Rule, maxName))}}
	p.alerts(q.Alerts)
	if q.Later.Plan != nil {
		p.plan(q)
		return p
	}
	p.subject(q)
	p.refined(q.Refined)
	if q.Phase == policy.OnCall {
		p.values(q)
	}
	for _, m := range q.Also {
		p.Reasons = append(p.Reasons, fmt.Sprintf("%s (rule %s)", plain.Text(m.Message, maxValue), plain.Text(m.Rule, maxName)))
	}
	if q.Assumed && q.Phase == policy.OnCall && !guard.IsInquiry(q.Method) {
		p.Reasons = append(p.Reasons, "nobody has said what this tool does, so the worst is assumed; weir annotate drafts what to say")
	}
	if q.Hint != "" {
		p.Reasons = append(p.Reasons, plain.Text(q.Hint, maxHint))
	}
	p.origins("Untrusted content came from", q.Origins, func(l label.Label) bool { return l.Untrusted })
	p.origins("Private data came from", q.Origins, func(l label.Label) bool { return l.Private })
	switch {
	case q.Later.Place && len(q.Later.Pages) > 0:
		p.Note = "A yes also covers later calls of this tool to the same place, for a quarter of an hour, and to these, which the same result lists: " +
			pages(q.Later.Pages) + ". No answer means no."
	case q.Later.Place:
		p.Note = "A yes also covers later calls of this tool to the same place, for a quarter of an hour. No answer means no."
	case q.Phase != policy.OnResult:
		p.Note = "It is allowed once, for exactly these arguments. No answer means no."
	case guard.IsInquiry(q.Method):
		p.Note = "It is asked once. No answer means no."
	default:
		p.Note = "It is shown once. No answer means no."
	}
	return p
}

// alerts names the results that speak to the agent as attacks do, each uncut.
func (p *Prompt) alerts(all []string) {
	var texts []string
	for _, a := range all {
		texts = append(texts, plain.Text(a, maxAlert))
	}
	if texts != nil {
		p.Reasons = append(p.Reasons, strings.Join(texts, "; "))
	}
}

// pages quotes the addresses of pages.
func pages(all []string) string {
	quoted := make([]string, len(all))
	for i, page := range all {
		quoted[i] = plain.Quote(page, maxValue)
	}
	return strings.Join(quoted, ", ")
}

// Text returns the prompt as lines, of which no one else's text begins one.
func (p Prompt) Text() string {
	var b strings.Builder
	b.WriteString(p.Lead + "\n")
	if len(p.To) > 0 {
		title := "Goes to: "
		if p.Guessed {
			title = "Goes, by the names of its arguments, to: "
		}
		b.WriteString(title + strings.Join(p.To, ", ") + "\n")
	}
	if p.Subject != "" {
		b.WriteString(p.Subject + "\n")
	}
	switch {
	case len(p.Arguments) > 0:
		b.WriteString("Arguments:\n")
	case p.Listed:
		b.WriteString("Arguments: none\n")
	}
	for _, a := range p.Arguments {
		fmt.Fprintf(&b, "  %s = %s\n", a.Name, a.Value)
	}
	for _, r := range p.Refined {
		b.WriteString("For these arguments: " + r + "\n")
	}
	if len(p.Values) > 0 {
		b.WriteString("Where this comes from:\n")
	}
	for _, v := range p.Values {
		b.WriteString("  " + v + "\n")
	}
	if p.User != "" {
		b.WriteString("The user wrote: " + p.User + "\n")
	}
	title := "Why you are asked: "
	for _, r := range p.Reasons {
		b.WriteString(title + r + "\n")
		title = "Also: "
	}
	for _, o := range p.Origins {
		b.WriteString(o + "\n")
	}
	if len(p.Full) > 0 {
		b.WriteString("In full:\n")
	}
	for _, a := range p.Full {
		fmt.Fprintf(&b, "  %s = %s\n", a.Name, a.Value)
	}
	if p.Unseen != "" {
		b.WriteString("Not shown here: " + p.Unseen +
			". Look at all of it (weir approvals ID, or the console): the code that a yes needs stands at its end.\n")
	}
	b.WriteString(p.Note)
	return b.String()
}

// subject describes the call and its arguments.
func (p *Prompt) subject(q *guard.Question) {
	switch asked := guard.IsInquiry(q.Method); {
	case asked && q.Phase == policy.OnResult:
		p.Lead = fmt.Sprintf("Let server %s ask this? It wants %s.", plain.Text(q.Server, maxName), wanted(q.Method))
		p.arguments(q)
	case asked:
		p.Lead = fmt.Sprintf("Let server %s have this answer? It is %s. %s", plain.Text(q.Server, maxName), wanted(q.Method), effects(q.Contract))
		p.arguments(q)
	case q.Phase == policy.OnResult:
		p.Lead = "Show the agent what a server returned?"
		p.Subject = fmt.Sprintf("%s: %s of server %s", thing(q.Method), plain.Quote(q.Name, maxName), plain.Text(q.Server, maxName))
		p.arguments(q)
	default:
		p.Lead = "Allow this call? " + effects(q.Contract)
		p.destinations(q)
		p.Subject = fmt.Sprintf("%s: %s of server %s", thing(q.Method), plain.Quote(q.Name, maxName), plain.Text(q.Server, maxName))
		p.arguments(q)
	}
}

// wanted names the data that a server asks for.
func wanted(method string) string {
	switch method {
	case guard.Elicitation:
		return "what a person types"
	case guard.Roots:
		return "the folders that the host has open"
	}
	return "what the host's model writes"
}

// thing names the kind of entry that a request names.
func thing(method string) string {
	switch method {
	case "tools/call":
		return "Tool"
	case "prompts/get":
		return "Prompt"
	case "resources/read":
		return "Resource"
	}
	return "Method"
}

// effects describes the effects that a call may have.
func effects(c contract.Contract) string {
	var parts []string
	switch {
	case c.Outcomes.Has(contract.Irreversible):
		parts = append(parts, "It may do something that cannot be undone")
	case c.Outcomes.Has(contract.Consequential):
		parts = append(parts, "It changes something, and that can be reversed")
	default:
		parts = append(parts, "It changes nothing")
	}
	switch {
	case c.Destinations.Has(contract.Public):
		parts = append(parts, "what it is given may become public.")
	case c.Destinations.Has(contract.Internal):
		parts = append(parts, "what it is given stays inside the organisation.")
	default:
		parts = append(parts, "what it is given goes no further.")
	}
	return strings.Join(parts, "; ")
}

// refined lists the refinements of overlays that changed the contract for these arguments.
func (p *Prompt) refined(notes []overlay.Note) {
	for i, n := range notes {
		if i == maxRefined {
			p.Refined = append(p.Refined, fmt.Sprintf("and %d more", len(notes)-i))
			return
		}
		text := fmt.Sprintf("%s (overlay %s)", plain.Text(n.Why, maxValue), plain.Text(n.Entry, maxName))
		if n.Failed != "" {
			text = "perhaps " + text + ", which could not be found out and so only raises: " + plain.Text(n.Failed, maxValue)
		}
		p.Refined = append(p.Refined, text)
	}
}

func (p *Prompt) origins(title string, origins []guard.Origin, which func(label.Label) bool) {
	var names []string
	for _, o := range slices.DeleteFunc(slices.Clone(origins), func(o guard.Origin) bool { return !which(o.Label) }) {
		name := plain.Text(o.URI, maxName)
		if classes := o.Label.Sensitivity; classes.Len() > 0 {
			name += fmt.Sprintf(" (%s)", plain.Text(classes.String(), maxName))
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return
	}
	line := title + ": " + strings.Join(names[:min(len(names), maxOrigins)], ", ")
	if n := len(names) - maxOrigins; n > 0 {
		line += fmt.Sprintf(" and %d more", n)
	}
	p.Origins = append(p.Origins, line)
}
