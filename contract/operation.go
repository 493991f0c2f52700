package contract

import "github.com/weir-mcp/weir/label"

// An Operation is how a tool works, in the hints of SEP-1984. The zero Operation declares nothing. SEP-1984's
// sensitiveDataHint is about data: see [Output].
type Operation struct {
	AIProcessing Hint // passes its inputs to a model
	Slow         Hint // takes long
	Costly       Hint // uses many costly resources
	Privileged   Hint // acts with elevated rights
	Reversible   Hint // its effects can be undone
}

// An Output is the statement of single hints about the data that a tool returns. Each warns if it is Yes; No and
// Unknown promise nothing that a decision could lean on. The zero Output declares nothing.
type Output struct {
	Unsafe    Hint // unfit for a prompt (SEP-1561)
	Secret    Hint // may hold credentials (SEP-1560)
	Private   Hint // may be private (first draft of SEP-1913)
	Sensitive Hint // may be sensitive, in a way that is not named (SEP-1984, first draft of SEP-1913)
}

// classes returns the sensitivity that the hints warn of.
func (o Output) classes() label.Set[label.Class] {
	var classes []label.Class
	if o.Secret == Yes {
		classes = append(classes, label.Credentials)
	}
	if o.Sensitive == Yes {
		classes = append(classes, label.Unspecified)
	}
	return label.SetOf(classes...)
}
