package approve

import (
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// Bounds of what a prompt shows, in characters and lines: a long argument must not push the reason out of sight.
const (
	maxName      = 80
	maxValue     = 240
	maxArguments = 12
	maxOrigins   = 6
)

// Text renders the question for a person: what would happen, with which arguments, why it is asked, and where the
// data came from. What a server or the agent wrote is quoted, cut in the middle with its length, and every character that
// could hide or reorder text is made visible; nothing of it comes first.
func Text(q *guard.Question) string {
	var b strings.Builder
	writeSubject(&b, q)
	if q.Phase == policy.OnCall {
		writeValues(&b, q)
	}
	fmt.Fprintf(&b, "Why you are asked: %s (rule %s)\n", q.Message, q.Rule)
	for _, m := range q.Also {
		fmt.Fprintf(&b, "Also: %s (rule %s)\n", m.Message, m.Rule)
	}
	writeOrigins(&b, "Untrusted content came from", q.Origins, func(l label.Label) bool { return l.Untrusted })
	writeOrigins(&b, "Private data came from", q.Origins, func(l label.Label) bool { return l.Private })
	switch {
	case q.Once:
		b.WriteString("A yes also covers later calls of this tool to the same place, for a quarter of an hour. No answer means no.")
	case q.Phase != policy.OnResult:
		b.WriteString("It is allowed once, for exactly these arguments. No answer means no.")
	case guard.IsInquiry(q.Method):
		b.WriteString("It is asked once. No answer means no.")
	default:
		b.WriteString("It is shown once. No answer means no.")
	}
	return b.String()
}

// writeSubject says what would happen, with what.
func writeSubject(b *strings.Builder, q *guard.Question) {
	switch asked := guard.IsInquiry(q.Method); {
	case asked && q.Phase == policy.OnResult:
		fmt.Fprintf(b, "Let server %s ask this? It wants %s.\n", q.Server, wanted(q.Method))
		writeArguments(b, q)
	case asked:
		fmt.Fprintf(b, "Let server %s have this answer? It is %s. %s\n", q.Server, wanted(q.Method), effects(q.Contract))
		writeArguments(b, q)
	case q.Phase == policy.OnResult:
		fmt.Fprintf(b, "Show the agent what %s of server %s returned?\n", plain.Quote(q.Name, maxName), q.Server)
	default:
		fmt.Fprintf(b, "Allow this call? %s\n", effects(q.Contract))
		fmt.Fprintf(b, "%s: %s of server %s\n", thing(q.Method), plain.Quote(q.Name, maxName), q.Server)
		writeArguments(b, q)
	}
}

// wanted says what a server asks for.
func wanted(method string) string {
	switch method {
	case guard.Elicitation:
		return "what a person types"
	case guard.Roots:
		return "the folders that the host has open"
	}
	return "what the host's model writes"
}

// thing names what a request is about.
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

// effects says in words what a call may do.
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

func writeArguments(b *strings.Builder, q *guard.Question) {
	args, ok := rawjson.Get(q.Arguments, "arguments")
	if !ok {
		args = q.Arguments // of a method that has no member of that name
	}
	n := 0
	var rest []string
	for name, value := range rawjson.Members(args) {
		if n++; n == 1 {
			b.WriteString("Arguments:\n")
		}
		if n <= maxArguments {
			fmt.Fprintf(b, "  %s = %s\n", plain.Quote(name, maxName), plain.Text(string(value), maxValue))
		} else {
			rest = append(rest, name)
		}
	}
	if n == 0 {
		b.WriteString("Arguments: none\n")
	}
	if len(rest) > 0 {
		fmt.Fprintf(b, "  and %d more whose values are not shown: %s\n", len(rest), plain.Quote(strings.Join(rest, " "), maxValue))
	}
}

func writeOrigins(b *strings.Builder, title string, origins []guard.Origin, which func(label.Label) bool) {
	n := 0
	for _, o := range origins {
		if !which(o.Label) {
			continue
		}
		if n++; n > maxOrigins {
			continue
		}
		sep := ", "
		if n == 1 {
			sep = title + ": "
		}
		b.WriteString(sep + plain.Text(o.URI, maxName))
		if classes := o.Label.Sensitivity; classes.Len() > 0 {
			fmt.Fprintf(b, " (%s)", plain.Text(classes.String(), maxName))
		}
	}
	if n > maxOrigins {
		fmt.Fprintf(b, " and %d more", n-maxOrigins)
	}
	if n > 0 {
		b.WriteByte('\n')
	}
}
