package servers

import (
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// Contracts returns what each tool declares, by its name. The sets are possible values; each result narrows them. The
// three tools of the mail server that SEP-1913 has examples for (Action Metadata Examples) declare what it says there.
func Contracts() map[string]contract.Contract {
	return map[string]contract.Contract{
		"list_files": reads(label.UserSource),
		"read_file": returning(reads(label.UserSource, label.Internal),
			label.Financial, label.Credentials),
		"write_file": {
			ReadOnly: contract.No, Destructive: contract.No, Idempotent: contract.No, OpenWorld: contract.No,
			Destinations: contract.Possible(contract.User),
			Accepts:      contract.Possible(label.User, label.PII, label.Financial, label.Credentials),
			Outcomes:     contract.Possible(contract.Consequential),
			Sources:      contract.Possible(label.System), Returns: contract.Possible[label.Class](),
		},
		"delete_file": {
			ReadOnly: contract.No, Destructive: contract.Yes, Idempotent: contract.Yes, OpenWorld: contract.No,
			Destinations: contract.Possible(contract.User), Accepts: contract.Possible[label.Class](),
			Outcomes: contract.Possible(contract.Irreversible),
			Sources:  contract.Possible(label.System), Returns: contract.Possible[label.Class](),
		},

		"read_drafts":  returning(reads(label.UserSource), label.PII),
		"list_inbox":   open(returning(reads(label.UntrustedPublic), label.PII, label.User)),
		"read_message": open(returning(reads(label.UntrustedPublic), label.PII, label.User)),
		"send_email": {
			ReadOnly: contract.No, Destructive: contract.No, Idempotent: contract.No, OpenWorld: contract.Yes,
			Destinations: contract.Possible(contract.Public),
			Accepts:      contract.Possible(label.PII, label.User),
			Outcomes:     contract.Possible(contract.Irreversible),
			Sources:      contract.Possible(label.System), Returns: contract.Possible[label.Class](),
		},

		"fetch": fetches(),

		"query": open(returning(reads(label.Internal, label.UntrustedPublic), label.PII)),
		"execute": {
			ReadOnly: contract.No, Destructive: contract.Yes, Idempotent: contract.No, OpenWorld: contract.No,
			Destinations: contract.Possible(contract.Internal), Accepts: contract.Possible(label.PII),
			Outcomes: contract.Possible(contract.Consequential, contract.Irreversible),
			Sources:  contract.Possible(label.System), Returns: contract.Possible[label.Class](),
		},
	}
}

// reads is the contract of a tool that only looks, at what came from the given sources and is not sensitive.
func reads(from ...label.Source) contract.Contract {
	return contract.Contract{
		ReadOnly: contract.Yes, Destructive: contract.No, Idempotent: contract.Yes, OpenWorld: contract.No,
		Destinations: contract.Possible(contract.Ephemeral), Accepts: contract.Possible[label.Class](),
		Outcomes: contract.Possible(contract.Benign),
		Sources:  contract.Possible(from...), Returns: contract.Possible[label.Class](),
	}
}

// returning adds what the tool may return. The set holds what is possible, none of it included.
func returning(c contract.Contract, classes ...label.Class) contract.Contract {
	c.Returns = contract.Possible(classes...)
	return c
}

// open marks a tool whose results may hold what strangers wrote. Nothing of the call goes anywhere: the destination
// says so.
func open(c contract.Contract) contract.Contract {
	c.OpenWorld = contract.Yes
	return c
}

// fetches is the contract of a tool that changes nothing but whose argument, an address, reaches strangers.
func fetches() contract.Contract {
	c := open(reads(label.UntrustedPublic))
	c.Malicious = contract.Yes
	c.Destinations = contract.Possible(contract.Public)
	return c
}
