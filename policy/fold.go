package policy

import (
	"slices"

	"github.com/weir-mcp/weir/internal/expression"
)

// notOfTool are the facts that may differ between calls of a tool under one contract.
var notOfTool = slices.DeleteFunc(FactNames(), func(name string) bool { return facts[factIndex[name]].perTool })

// Fold returns the policy for the calls of one tool: those that have the method, the tool and the server of these facts, with its
// contracts, whatever the other facts are. It leaves out the rules that cannot match then, and decides as p does. Its Rules and its
// Digest are those of p.
func (p *Policy) Fold(f *Facts) *Policy {
	if p == nil || f == nil {
		return p
	}
	frame, err := expression.NewFrame(&partial{new(activation).of(f), notOfTool})
	if err != nil {
		return p
	}
	defer frame.Close()
	folded := &Policy{name: p.name, digest: p.digest, fallback: p.fallback, all: p.all}
	for phase := range folded.phases {
		for _, r := range p.phases[phase] {
			if answer, err := judge(frame, &r, notOfTool); err != nil || answer != expression.No {
				folded.phases[phase] = append(folded.phases[phase], r)
			}
		}
	}
	return folded
}
