package contract

import "github.com/weir-mcp/weir/label"

// Reads returns the contract of a tool that changes nothing, passes its arguments on to nobody, and returns data from
// the given sources, such as label.UntrustedPublic for mail that anyone can send. A tool that fetches pages passes
// their addresses on: Reads(label.UntrustedPublic).To(Public).
func Reads(from ...label.Source) Contract {
	return Contract{ReadOnly: Yes, Idempotent: Yes}.Causing(Benign).To(Ephemeral).From(from...)
}

// Writes returns the contract of a tool that adds or changes data at the given destinations, in a way that can be
// undone, and returns a message of its own. A tool that deletes is Writes(…) with Destructive: Yes.
func Writes(to ...Destination) Contract {
	return Contract{ReadOnly: No, Destructive: No}.Causing(Consequential).To(to...).From(label.System)
}

// Sends returns the contract of a tool that sends its arguments to the given destinations, in a way that cannot be
// undone, such as by mail, and returns a message of its own.
func Sends(to ...Destination) Contract {
	return Contract{ReadOnly: No, Destructive: No, Idempotent: No}.Causing(Irreversible).To(to...).From(label.System)
}
