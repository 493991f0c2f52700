package expression

import (
	"fmt"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// An Answer is what is known of a condition of whose variables not all are. The zero Answer is Open.
type Answer uint8

// The answers.
const (
	Open Answer = iota // it depends on what is not known
	No
	Yes
)

// Unknown returns the value of a variable of which nothing is known. Only [Frame.Judge] can do with it.
func Unknown() ref.Val { return types.NewUnknown(1, nil) }

// Judge evaluates the condition over values some of which may be [Unknown]. What the known ones settle is settled, as in
// false && unknown; everything else is Open. An error means what it means with Holds, whatever the unknown values are.
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
