package hook

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/plain"
)

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
	if a.Effect != Pass && e.Name == SessionStart {
		return Failed(a.Text)
	}
	out := e.Host.answer(a, e)
	if len(out) == 0 {
		return Output{}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return Failed(err.Error())
	}
	return Output{Stdout: string(text) + "\n"}
}

// noticed begins an answer with the text for the user.
func (a Answer) noticed() map[string]any {
	if a.Notice == "" {
		return map[string]any{}
	}
	return map[string]any{"systemMessage": a.Notice}
}

// claudeAnswer is the answer for Claude Code, and for hosts that took its form.
func claudeAnswer(a Answer, e *Event) map[string]any {
	out, specific := a.noticed(), map[string]string{"hookEventName": e.Told}
	switch {
	case a.Effect == Pass:
	case e.Name == PreToolUse:
		specific["permissionDecision"], specific["permissionDecisionReason"] = "deny", a.Text
		if a.Effect == Ask && e.Host.asks {
			specific["permissionDecision"] = "ask"
		}
		out["hookSpecificOutput"] = specific
	default:
		out["decision"], out["reason"] = "block", a.Text
		if e.Name == PostToolUse && e.Host.asks {
			specific["updatedToolOutput"] = a.Text
			out["hookSpecificOutput"] = specific
		}
	}
	return out
}

// qwenAnswer is the answer for Qwen Code. Of several hooks the last decision on a permission counts there, but none
// takes a stop back; and a stop alone keeps a result from the agent.
func qwenAnswer(a Answer, e *Event) map[string]any {
	out := claudeAnswer(a, e)
	if a.Effect != Pass {
		out["continue"], out["stopReason"] = false, a.Text
	}
	return out
}

// geminiAnswer is the answer for Gemini CLI.
func geminiAnswer(a Answer, _ *Event) map[string]any {
	out := a.noticed()
	if a.Effect != Pass {
		out["decision"], out["reason"] = "deny", a.Text
	}
	return out
}

// copilotAnswer is the answer for Copilot CLI, which has no text for the user alone.
func copilotAnswer(a Answer, e *Event) map[string]any {
	switch {
	case a.Effect == Pass:
		return nil
	case e.Name == PreToolUse:
		return map[string]any{"permissionDecision": "deny", "permissionDecisionReason": a.Text}
	}
	return map[string]any{"modifiedResult": map[string]string{"resultType": "failure", "textResultForLlm": a.Text}}
}

// cursorAnswer is the answer for Cursor, which takes an empty one for a failure of the hook, has no text for the user of
// a call that goes, and no question that hooks could put. A result that the agent has cannot be taken back.
func cursorAnswer(a Answer, e *Event) map[string]any {
	switch {
	case e.Name != PreToolUse:
		return map[string]any{"additional_context": a.Text}
	case a.Effect == Pass:
		return map[string]any{"permission": "allow"}
	}
	return map[string]any{"permission": "deny", "user_message": a.Text, "agent_message": a.Text}
}

// opencodeAnswer is the answer for Weir's plugin in opencode, which goes on for nothing else.
func opencodeAnswer(a Answer, _ *Event) map[string]any {
	out := a.noticed()
	if out["proceed"] = a.Effect == Pass; a.Effect != Pass {
		out["reason"] = a.Text
	}
	return out
}

// Bounds of texts that are shown, in characters.
const (
	maxText   = 2000
	maxReason = 400
)

// shown shows the message of a rule.
func shown(message, rule string) string {
	return fmt.Sprintf("%s (rule %s)", plain.Text(message, maxReason), plain.Text(rule, maxReason))
}

// request puts a question into the summary of its prompt. The host shows the call itself.
func request(q *guard.Question) string {
	return "Weir asks: " + strings.Join(approval.NewPrompt(q).Summary(), "\n")
}
