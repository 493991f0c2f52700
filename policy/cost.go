package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
)

// maxCost is what one rule may cost, in CEL's units: looking at a value is about one, at ten characters about one. It
// allows a loop over the largest set with a string function on each element, and takes about a tenth of a second at worst.
const maxCost = 1_000_000

// bound sets the cost of x, or says that it is too high. The sizes of all facts are limited and so, at load, is the cost of
// a rule. Only the shape of call.arguments is unknown: a loop over them is estimated as if every element were as large as
// all of them, which says nothing, so what such a rule costs is counted while it runs.
func (c *compiler) bound(x *expression, checked *cel.Ast, readsArguments bool) *complaint {
	estimate, err := c.env.EstimateCost(checked, sizes{})
	if err != nil {
		return &complaint{msg: fmt.Sprintf("its cost cannot be estimated: %v", err)}
	}
	x.cost = estimate.Max
	switch {
	case estimate.Max <= maxCost:
		return nil
	case readsArguments && estimate.Min <= maxCost:
		x.cost, x.limited = maxCost, true
		return nil
	}
	return &complaint{
		msg:  fmt.Sprintf("the rule may cost %s, more than the %s that one rule may", amount(estimate.Max), amount(maxCost)),
		hint: "use one loop where there are two, and startsWith, endsWith or contains where there is matches",
	}
}

func amount(n uint64) string {
	if n == math.MaxUint64 {
		return "without bound"
	}
	return strconv.FormatUint(n, 10)
}

// sizes tells CEL how large facts may be. The limits are enforced where facts are read.
type sizes struct{}

// EstimateSize returns the size of a fact or of what is inside it, and nil for anything else.
func (sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	path := node.Path()
	if len(path) == 0 {
		return nil
	}
	name := strings.TrimPrefix(path[0], ".")
	if name == argumentsName {
		return upTo(maxArguments)
	}
	i, ok := factIndex[name]
	if !ok {
		return nil
	}
	if len(path) > 1 || facts[i].typ.Kind() != types.ListKind {
		return upTo(maxText)
	}
	if f := &facts[i]; f.values != nil && !f.ofClasses() {
		return upTo(uint64(len(f.values)))
	}
	return upTo(maxTexts)
}

// EstimateCallCost returns nil: CEL knows what its own functions cost.
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

func upTo(n uint64) *cost.SizeEstimate { return &cost.SizeEstimate{Max: n} }
