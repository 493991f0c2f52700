package approve

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/weir-mcp/weir/internal/plain"
)

// MethodReload is the method that a question has which is about Weir's own configuration. No request has it.
const MethodReload = "weir/reload"

// A Proposal is a change of what Weir works by that a person has to accept.
type Proposal struct {
	Principal string // whose answer counts
	File      string // where it is written
	Binding   string // stands for exactly this change
	Rule      string
	Ways      []string // what would change
}

// Propose enters the question whether a change may be taken over.
func (b *Book) Propose(ctx context.Context, p Proposal) (*Pending, error) {
	now := time.Now()
	prompt := Prompt{
		Lead:    "Take over a configuration that loosens weir?",
		Subject: "It is in " + plain.Text(p.File, maxValue),
		Note:    "No answer means no: the configuration of before goes on.",
	}
	for _, w := range p.Ways {
		prompt.Reasons = append(prompt.Reasons, plain.Text(w, maxValue))
	}
	q := &Pending{
		ID: rand.Text(), Principal: p.Principal, Session: MethodReload, Binding: p.Binding, Asked: now, Expires: now.Add(time.Duration(b.timeout.Load())),
		Body: Body{Prompt: prompt, Method: MethodReload, Name: p.File, Rule: p.Rule, Message: "it loosens weir"},
	}
	b.mu.Lock()
	b.forget(now)
	err := b.add(ctx, q)
	b.mu.Unlock()
	if err == nil && b.opts.Asked != nil {
		b.opts.Asked(b, q)
	}
	return q, err
}
