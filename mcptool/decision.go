package mcptool

// A Decision is whether a call may run. The zero Decision refuses it. Make one with [Allow], [Refuse] or [Ask].
type Decision struct {
	verdict verdict
	text    string
}

type verdict uint8

const (
	refuse verdict = iota
	allow
	ask
)

// Allow lets the call run.
func Allow() Decision { return Decision{verdict: allow} }

// Refuse does not let the call run. The reason is told to the model, which can act on it.
func Refuse(reason string) Decision { return Decision{refuse, reason} }

// Ask lets the call run if the user accepts. The question is shown to the user as it is, so it should begin with the
// effect of the call, and quote arguments, which the agent chose, only after that. A client that cannot ask is refused.
func Ask(question string) Decision { return Decision{ask, question} }
