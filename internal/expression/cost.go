package expression

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// MaxCost is the limit of the cost of one condition, in CEL's units: reading a value costs about one, ten characters
// about one. It allows a loop over the largest set with a string function on each element, and takes about a tenth of a
// second at worst.
const MaxCost = 1_000_000

// bound sets the cost of x, or says that it is too high. The sizes of all variables are limited and so, at load, is the
// cost of a condition. Only the shape of call.arguments is unknown: a loop over them is estimated as if every element
// were as large as all of them, which is no useful bound, so the cost of such a condition is counted while it runs.
func (c *Compiler) bound(x *Condition, checked *cel.Ast) *Complaint {
	estimate, err := c.env.EstimateCost(checked, sizes{c})
	if err != nil {
		return &Complaint{Msg: fmt.Sprintf("its cost cannot be estimated: %v", err)}
	}
	x.Cost = estimate.Max
	switch {
	case estimate.Max <= MaxCost:
		return nil
	case x.Reads(Arguments) && estimate.Min <= MaxCost:
		x.Cost, x.Limited = MaxCost, true
		return nil
	}
	return &Complaint{
		Msg:  fmt.Sprintf("the rule may cost %s, more than the %s that one rule may", amount(estimate.Max), amount(MaxCost)),
		Hint: "use one loop where there are two, and startsWith, endsWith or contains where there is matches",
	}
}

func amount(n uint64) string {
	if n == math.MaxUint64 {
		return "without bound"
	}
	return strconv.FormatUint(n, 10)
}

// sizes tells CEL how large variables may be, and the cost of the helper functions.
type sizes struct{ vocabulary *Compiler }

// EstimateSize returns the size of a variable or of a part of it, and nil for anything else.
func (s sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	path := node.Path()
	if len(path) == 0 {
		return nil
	}
	name := strings.TrimPrefix(path[0], ".")
	if name == Arguments {
		return upTo(MaxArguments)
	}
	i, ok := s.vocabulary.index[name]
	if !ok {
		return nil
	}
	v := &s.vocabulary.variables[i]
	switch {
	case len(path) > 1 || v.Type.Kind() != types.ListKind:
		return upTo(MaxText)
	case v.Elements > 0:
		return upTo(uint64(v.Elements))
	}
	return upTo(MaxTexts)
}

// EstimateCallCost returns the cost of a helper function, and nil for CEL's own functions, which CEL estimates.
func (sizes) EstimateCallCost(function, _ string, _ *cost.AstNode, args []cost.AstNode) *cost.CallEstimate {
	h := helperNamed(function)
	if h == nil {
		return nil
	}
	var all uint64
	for _, a := range args {
		size := uint64(MaxArguments)
		if known := a.ComputedSize(); known != nil {
			size = known.Max
		}
		all += min(size, MaxArguments)
	}
	return &cost.CallEstimate{
		CostEstimate: cost.Estimate{Min: 1, Max: 1 + h.units + all/bytesPerUnit},
		ResultSize:   upTo(all),
	}
}

// bytesPerUnit is how much of a text a helper function looks at for one unit of cost, as CEL's own text functions do.
const bytesPerUnit = 10

// actualCost counts the cost of the helper functions while a condition runs.
type actualCost struct{}

// CallCost returns nil for CEL's own functions: CEL knows.
func (actualCost) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	h := helperNamed(function)
	if h == nil {
		return nil
	}
	units := 1 + h.units
	for _, a := range args {
		if s, ok := a.(types.String); ok {
			units += uint64(len(s)) / bytesPerUnit
		}
	}
	return &units
}

func upTo(n uint64) *cost.SizeEstimate { return &cost.SizeEstimate{Max: n} }
