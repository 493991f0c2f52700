package guard

import (
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/policy"
)

// Bounds of the specialized policies that are kept.
const (
	maxSpecialized   = 4096 // tools: of more, the whole policy decides
	maxRespecialized = 8    // contracts of one tool: one that varies more with its arguments is decided by the whole policy
)

// A specialized is the policy of a guard without the rules that cannot match for a tool, by the tool. It is made when a
// tool is first called, and again when its contract has changed; a new policy begins with none. The zero specialized is
// empty. It is safe for concurrent use.
type specialized struct {
	by    sync.Map // of *specializedPolicy, by toolKey
	count atomic.Int32
}

type toolKey struct{ server, method, name string }

// A specializedPolicy is the policy for calls of one tool, and the contracts for which it holds.
type specializedPolicy struct {
	trust    contract.Trust
	declared contract.Contract
	counts   contract.Contract
	policy   *policy.Policy
	made     int // of this tool so far
}

// of returns a policy that decides on the facts as the whole one does.
func (s *specialized) of(whole *policy.Policy, f *policy.Facts) *policy.Policy {
	key := toolKey{f.Server.Name, f.Method, f.Tool.Name}
	made := 0
	if v, ok := s.by.Load(key); ok {
		o := v.(*specializedPolicy)
		if o.trust == f.Server.Trust && o.counts.Equal(f.Tool.Annotations) && o.declared.Equal(f.Tool.Declared) {
			return o.policy
		}
		if made = o.made; made >= maxRespecialized {
			return whole
		}
	} else if s.count.Add(1) > maxSpecialized {
		s.count.Add(-1)
		return whole
	}
	o := &specializedPolicy{f.Server.Trust, f.Tool.Declared, f.Tool.Annotations, whole.Specialize(f), made + 1}
	s.by.Store(key, o)
	return o.policy
}
