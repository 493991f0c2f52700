package expression

import (
	"fmt"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// An Answer is the truth of a condition some of whose variables are unknown. The zero Answer is Open.
type Answer uint8

// The answers.
const (
	Open Answer = iota // it depends on unknown values
	No
	Yes
)

// Unknown returns the value of a variable of which nothing is known. Only [Frame.Judge] can do with it.
func Unknown() ref.Val { return types.NewUnknown(1, nil) }

// Judge evaluates the condition over values some of which may be [Unknown]. The answer is Yes or No if the known ones
// settle it, as in false && unknown, and else Open. An error means the same as an error of Holds, for any unknown
// values.
func (f *Frame) Judge(c *Condition) (Answer, error) {
	var values any = f.shared
	if c.Limited {
		values = f.values
	}
	out, _, err := c.program.Eval(values)
	switch b, ok := out.(types.Bool); {
	case types.IsUnknown(out):
		return Open, nil
	case err != nil:
		return Open, err
	case !ok:
		return Open, fmt.Errorf("the condition gives %v, not a bool", out.Type())
	case bool(b):
		return Yes, nil
	}
	return No, nil
}
