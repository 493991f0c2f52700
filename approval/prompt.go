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
	maxExcerpt   = 800  // longer than each is, but for characters that do not print
)

// A Prompt is a question in words, in the order in which a user should read it: a [Prompt.Summary] of at most a few
// lines, then the details. Text of a server or the agent is quoted, cut in the middle with its length, and every
// character that could hide, reorder or imitate text is made visible (package plain); it begins no line. Every channel
// shows this and nothing else, as plain text.
type Prompt struct {
	Lead    string   `json:"lead"`              // the action and its target, short enough for a heading
	Effect  string   `json:"effect,omitempty"`  // the effects that the call may have
	Subject string   `json:"subject,omitempty"` // more of the subject, such as the goal of a plan
	Reasons []string `json:"reasons"`           // why it is asked: the rule that decided, and every alert
	Reports []string `json:"reports,omitempty"` // on a result that was reported as malicious, with an excerpt, quoted
	Data    string   `json:"data,omitempty"`    // the sources of untrusted and private data
	User    string   `json:"user,omitempty"`    // words of the user, quoted

	Also      []string   `json:"also,omitempty"`    // further reasons, and hints
	To        []string   `json:"to,omitempty"`      // the destinations, those first that the user has not named
	ToFrom    []string   `json:"toFrom,omitempty"`  // the origin of each of them, if there are several; "" of one that was not traced
	Guessed   bool       `json:"guessed,omitempty"` // whether only the names of arguments tell that they are destinations
	Arguments []Argument `json:"arguments,omitempty"`
	Listed    bool       `json:"listed,omitempty"`  // whether it has arguments to speak of, or none
	Full      []Argument `json:"full,omitempty"`    // long arguments that the user has not written, uncut
	Unseen    string     `json:"unseen,omitempty"`  // the parts that are not shown; "" if everything is
	Refined   []string   `json:"refined,omitempty"` // the refinements of overlays for these arguments
	Display   string     `json:"display,omitempty"` // the call in the words of a trusted server, quoted
	Values    []string   `json:"values,omitempty"`  // where the arguments come from
	Note      string     `json:"note"`              // the meaning of an answer
}

// An Argument is one argument of a call, quoted.
type Argument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// NewPrompt puts the question into words.
func NewPrompt(q *guard.Question) Prompt {
	p := Prompt{Reasons: []string{reason(q.Message, q.Rule)}}
	p.alerts(q.Alerts)
	p.data(q)
	p.Reports = reports(q)
	if q.Later.Plan != nil {
		p.plan(q)
		return p
	}
	p.subject(q)
	p.refined(q.Refined)
	p.Display = displayed(q)
	if q.Phase == policy.OnCall {
		p.values(q)
	}
	for _, m := range q.Also {
		p.Also = append(p.Also, reason(m.Message, m.Rule))
	}
	if q.Assumed && q.Phase == policy.OnCall && !guard.IsInquiry(q.Method) {
		p.Also = append(p.Also, "no contract is known for it, so the worst is assumed; weir annotate drafts one")
	}
	if q.Burst != "" {
		p.Also = append(p.Also, q.Burst)
	}
	if q.Via != "" {
		p.Also = append(p.Also, "server "+plain.Text(q.Server, maxName)+" is reached by "+plain.Quote(q.Via, maxName))
	}
	if q.Hint != "" {
		p.Also = append(p.Also, plain.Text(q.Hint, maxHint))
	}
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
	case q.Reported != nil && q.Reported.Bare != "":
		p.Note = "It is shown once. No warning can be put before a part of it: " + q.Reported.Bare + ". No answer means no."
	case q.Reported != nil:
		p.Note = "It is shown once, with a warning to the agent before it. No answer means no."
	default:
		p.Note = "It is shown once. No answer means no."
	}
	if q.Unshown {
		p.Note = "The request shows the arguments, not the things that they name; if the agent changes anything before, you are asked again. " + p.Note
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

// reports tell why a result was reported as malicious, and show a part of it. Everything in it that others wrote is
// quoted, on one line.
func reports(q *guard.Question) []string {
	r := q.Reported
	if r == nil {
		return nil
	}
	by := "Reported as malicious by an overlay, evidence or the label of a resource"
	if r.Server {
		by = "Reported as malicious by server " + plain.Text(q.Server, maxName)
	}
	why := "no reason is given"
	if len(r.Findings) > 0 {
		quoted := make([]string, len(r.Findings))
		for i, f := range r.Findings {
			quoted[i] = plain.Quote(f, maxValue)
		}
		why = strings.Join(quoted, ", ")
	}
	part := "A part of its text, in the words of others: " + plain.Quote(r.Excerpt, maxExcerpt)
	switch {
	case r.Excerpt == "":
		part = "None of it is shown, since not all values in it could be found"
	case r.Whole:
		part = "All of its text, in the words of others: " + plain.Quote(r.Excerpt, maxExcerpt)
	}
	return []string{by + ": " + why, part}
}

// reason returns the message of a rule with its name. Where no rule matched, the policy's default asks.
func reason(message, rule string) string {
	if rule == "" {
		return "no rule of the policy matches, and its default is to ask"
	}
	return fmt.Sprintf("%s (rule %s)", plain.Text(message, maxValue), plain.Text(rule, maxName))
}

// pages quotes the addresses of pages.
func pages(all []string) string {
	quoted := make([]string, len(all))
	for i, page := range all {
		quoted[i] = plain.Quote(page, maxValue)
	}
	return strings.Join(quoted, ", ")
}

// Summary returns the lines that come first: the action and its target, its effects, the reasons, the sources of the
// data, the user's words, and all targets with their origins if there are several.
func (p Prompt) Summary() []string {
	lines := []string{p.Lead}
	add := func(title, text string) {
		if text != "" {
			lines = append(lines, title+text)
		}
	}
	add("", p.Effect)
	add("", p.Subject)
	title := "Why you are asked: "
	for _, r := range p.Reasons {
		add(title, r)
		title = "And: "
	}
	add("", p.Data)
	add("The user wrote: ", p.User)
	if len(p.To) > 1 {
		add("All targets: ", strings.Join(p.targets(), ", "))
	}
	return lines
}

// Text returns the prompt as lines, of which no one else's text begins one.
func (p Prompt) Text() string {
	var b strings.Builder
	for _, line := range p.Summary() {
		b.WriteString(line + "\n")
	}
	for _, r := range p.Reports {
		b.WriteString(r + "\n")
	}
	for _, r := range p.Also {
		b.WriteString("Also: " + r + "\n")
	}
	if len(p.Arguments) == 0 && p.Listed {
		b.WriteString("Arguments: none\n")
	}
	list(&b, "Arguments:", p.Arguments)
	for _, r := range p.Refined {
		b.WriteString("For these arguments: " + r + "\n")
	}
	if p.Display != "" {
		b.WriteString(p.Display + "\n")
	}
	if len(p.Values) > 0 {
		b.WriteString("Where this comes from:\n")
	}
	for _, v := range p.Values {
		b.WriteString("  " + v + "\n")
	}
	list(&b, "In full:", p.Full)
	if p.Unseen != "" {
		b.WriteString("Not shown here: " + p.Unseen +
			". Look at all of it (weir approvals ID, or the console): the code that a yes needs stands at its end.\n")
	}
	b.WriteString(p.Note)
	return b.String()
}

// list writes arguments under a title, if there are any.
func list(b *strings.Builder, title string, all []Argument) {
	if len(all) > 0 {
		b.WriteString(title + "\n")
	}
	for _, a := range all {
		fmt.Fprintf(b, "  %s = %s\n", a.Name, a.Value)
	}
}

// subject describes the call and its arguments.
func (p *Prompt) subject(q *guard.Question) {
	server := plain.Text(q.Server, maxName)
	of := fmt.Sprintf("%s (server %s)", plain.Quote(q.Name, maxName), server)
	switch asked := guard.IsInquiry(q.Method); {
	case asked && q.Phase == policy.OnResult:
		p.Lead = fmt.Sprintf("Let server %s ask for %s?", server, wanted(q.Method))
	case asked:
		p.Lead = fmt.Sprintf("Let server %s have %s?", server, wanted(q.Method))
		p.Effect = effects(q.Contract)
	case q.Phase == policy.OnResult:
		p.Lead = fmt.Sprintf("Show the agent the result of %s %s?", thing(q.Method), of)
	default:
		p.destinations(q)
		p.Lead = fmt.Sprintf("Allow this call of %s %s%s?", thing(q.Method), of, p.target())
		p.Effect = effects(q.Contract)
	}
	p.arguments(q)
}

// target names the first destination, and the number of the others.
func (p *Prompt) target() string {
	if len(p.To) == 0 {
		return ""
	}
	text := ", target " + p.To[0]
	if p.Guessed {
		text = ", probable target " + p.To[0]
	}
	if n := len(p.To) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// wanted names the data that a server asks for.
func wanted(method string) string {
	switch method {
	case guard.Elicitation:
		return "the answer of a person"
	case guard.Roots:
		return "the names of the open folders"
	}
	return "text of the host's model"
}

// thing names the kind of entry that a request names.
func thing(method string) string {
	switch method {
	case "tools/call":
		return "tool"
	case "prompts/get":
		return "prompt"
	case "resources/read":
		return "resource"
	}
	return "method"
}

// effects describes the effects that a call may have.
func effects(c contract.Contract) string {
	change, reach := "It changes nothing", "its data goes no further."
	switch {
	case c.Outcomes.Has(contract.Irreversible):
		change = "It may be impossible to undo"
	case c.Outcomes.Has(contract.Consequential):
		change = "It makes a change that can be undone"
	}
	switch {
	case c.Discloses():
		reach = "its data may become public."
	case c.Destinations.Has(contract.Internal):
		reach = "its data stays inside the organisation."
	}
	return change + "; " + reach
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

// data names the sources of untrusted and of private data.
func (p *Prompt) data(q *guard.Question) {
	var parts []string
	for _, kind := range []struct {
		name string
		of   func(label.Label) bool
	}{
		{"untrusted content", func(l label.Label) bool { return l.Untrusted }},
		{"private data", func(l label.Label) bool { return l.Private }},
	} {
		if names := origins(q.Origins, kind.of); names != "" {
			parts = append(parts, kind.name+" from "+names)
		}
	}
	if parts == nil {
		var results []string
		for uri := range q.Label.Attribution.All() {
			results = append(results, plain.Text(uri, maxName))
		}
		if results != nil {
			parts = append(parts, "results of "+few(results))
		}
	}
	switch {
	case parts == nil:
	case q.Phase == policy.OnResult:
		p.Data = "The result holds " + strings.Join(parts, "; ")
	default:
		p.Data = "The session holds " + strings.Join(parts, "; ")
	}
}

// origins names the origins of data of one kind.
func origins(all []guard.Origin, kind func(label.Label) bool) string {
	var names []string
	for _, o := range all {
		if !kind(o.Label) {
			continue
		}
		name := plain.Text(o.URI, maxName)
		if classes := o.Label.Sensitivity; classes.Len() > 0 {
			name += fmt.Sprintf(" (%s)", plain.Text(classes.String(), maxName))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return few(names)
}

// few joins names, and says how many more there are than a prompt has room for.
func few(names []string) string {
	if n := len(names) - maxOrigins; n > 0 {
		names = append(names[:maxOrigins:maxOrigins], fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}
