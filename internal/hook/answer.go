package hook

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/plain"
)

// An Effect says how the host goes on.
type Effect int

// The effects. The zero value denies.
const (
	Deny Effect = iota // the call does not happen, or the agent should not see its result
	Ask                // the host asks its user
	Pass               // the host goes on as it would without the hook
)

// An Answer tells a host how to go on after an event.
type Answer struct {
	Effect Effect
	Text   string // why, unless it passes
	Notice string // for the user alone; "" for none
}

// An Output is how a hook ends.
type Output struct {
	Stdout, Stderr string
	Status         int
}

// blocks is the exit status by which a hook keeps a call from happening.
const blocks = 2

// Failed returns the end of a hook that has no answer: the call does not happen.
func Failed(reason string) Output {
	return Output{Stderr: "weir cannot decide on this, so it is denied: " + plain.Text(reason, maxText) + "\n", Status: blocks}
}

// For returns the answer in the form that the host of an event takes.
func (a Answer) For(e *Event) Output {
	out := map[string]any{}
	if a.Notice != "" {
		out["systemMessage"] = a.Notice
	}
	specific := map[string]string{"hookEventName": e.Name}
	switch {
	case a.Effect == Pass:
	case e.Name == PreToolUse:
		specific["permissionDecision"], specific["permissionDecisionReason"] = "deny", a.Text
		if a.Effect == Ask && e.Host.asks {
			specific["permissionDecision"] = "ask"
		}
		out["hookSpecificOutput"] = specific
	case e.Name == SessionStart:
		return Failed(a.Text)
	default:
		out["decision"], out["reason"] = "block", a.Text
		if e.Name == PostToolUse && e.Host.replaces {
			specific["updatedToolOutput"] = a.Text
			out["hookSpecificOutput"] = specific
		}
	}
	if len(out) == 0 {
		return Output{}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return Failed(err.Error())
	}
	return Output{Stdout: string(text) + "\n"}
}

// Bounds of texts that are shown, in characters.
const (
	maxText   = 2000
	maxReason = 400
	maxSeen   = 4 // sources that the session has read
)

// shown shows the message of a rule.
func shown(message, rule string) string {
	return fmt.Sprintf("%s (rule %s)", plain.Text(message, maxReason), plain.Text(rule, maxReason))
}

// request puts a question into at most five lines. The host shows the call itself.
func request(q *guard.Question) string {
	p := approval.NewPrompt(q)
	lines := []string{"Weir asks: " + p.Lead}
	if len(p.To) > 0 {
		lines = append(lines, "Goes to: "+strings.Join(p.To, ", "))
	}
	for _, r := range p.Reasons[:min(2, len(p.Reasons))] {
		lines = append(lines, "Why: "+r)
	}
	var seen []string
	for uri := range q.Label.Attribution.All() {
		if len(seen) == maxSeen {
			seen = append(seen, "more")
			break
		}
		seen = append(seen, plain.Text(strings.TrimPrefix(uri, "mcp://"), 80))
	}
	if len(seen) > 0 {
		lines = append(lines, "This conversation has read results of: "+strings.Join(seen, ", "))
	}
	return strings.Join(lines, "\n")
}
