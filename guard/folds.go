package guard

import (
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/policy"
)

// Bounds of the folded policies that are kept.
const (
	maxFolds    = 4096 // tools: of more, the whole policy decides
	maxRefolded = 8    // contracts of one tool: one that varies more with its arguments is decided by the whole policy
)

// Folds are the policy of a guard without the rules that cannot match for a tool, by the tool. They are made when a tool is first
// called, and again when its contract has changed; a new policy begins with none. The zero folds are empty. They are safe for
// concurrent use.
type folds struct {
	by    sync.Map // of *fold, by foldKey
	count atomic.Int32
}

type foldKey struct{ server, method, name string }

// A fold is the policy for calls of one tool, and the contracts for which it holds.
type fold struct {
	trust    contract.Trust
	declared contract.Contract
	counts   contract.Contract
	policy   *policy.Policy
	made     int // folds of this tool so far
}

func (o *fold) holds(f *policy.Facts) bool {
	return o.trust == f.Server.Trust && o.counts.Equal(f.Tool.Annotations) && o.declared.Equal(f.Tool.Declared)
}

// of returns a policy that decides on the facts as the whole one does.
func (s *folds) of(whole *policy.Policy, f *policy.Facts) *policy.Policy {
	key := foldKey{f.Server.Name, f.Method, f.Tool.Name}
	made := 0
	if v, ok := s.by.Load(key); ok {
		o := v.(*fold)
		if o.holds(f) {
			return o.policy
		}
		if made = o.made; made >= maxRefolded {
			return whole
		}
	} else if s.count.Add(1) > maxFolds {
		s.count.Add(-1)
		return whole
	}
	o := &fold{f.Server.Trust, f.Tool.Declared, f.Tool.Annotations, whole.Fold(f), made + 1}
	s.by.Store(key, o)
	return o.policy
}
