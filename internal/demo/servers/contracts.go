package servers

import (
	"embed"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// proposal holds the three tools of the mail server that SEP-1913 has examples for (Action Metadata Examples), word for
// word.
//
//go:embed sep-1913
var proposal embed.FS

// verbatim returns the definition of a tool as the proposal has it, if it is one of its examples.
func verbatim(tool string) (definition []byte, ok bool) {
	definition, err := proposal.ReadFile("sep-1913/" + tool + ".json")
	return definition, err == nil
}

// Contracts returns the declaration of each tool, by its name. The sets are possible values; each result narrows them.
func Contracts() map[string]contract.Contract {
	all := ownContracts()
	for _, tool := range []string{"read_drafts", "list_inbox", "send_email"} {
		if definition, ok := verbatim(tool); ok {
			all[tool], _ = annotation.ReadTool(definition) // a test holds that they have no defects
		}
	}
	return all
}

// ownContracts returns the contracts of the tools that are not the proposal's.
func ownContracts() map[string]contract.Contract {
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

		"read_message": returning(reads(label.UntrustedPublic), label.PII, label.User),

		"fetch": fetches(),

		"query": returning(reads(label.Internal, label.UntrustedPublic), label.PII),
		"execute": {
			ReadOnly: contract.No, Destructive: contract.Yes, Idempotent: contract.No, OpenWorld: contract.No,
			Destinations: contract.Possible(contract.Internal), Accepts: contract.Possible(label.PII),
			Outcomes: contract.Possible(contract.Consequential, contract.Irreversible),
			Sources:  contract.Possible(label.System), Returns: contract.Possible[label.Class](),
		},
	}
}

// reads is the contract of a tool that only looks, at data that came from the given sources and is not sensitive. Its
// world is closed though outsiders may have written the data there (SEP-1913, Why Separate openWorldHint for Data vs.
// Tools?).
func reads(from ...label.Source) contract.Contract {
	return contract.Contract{
		ReadOnly: contract.Yes, Destructive: contract.No, Idempotent: contract.Yes, OpenWorld: contract.No,
		Destinations: contract.Possible(contract.Ephemeral), Accepts: contract.Possible[label.Class](),
		Outcomes: contract.Possible(contract.Benign),
		Sources:  contract.Possible(from...), Returns: contract.Possible[label.Class](),
	}
}

// returning adds the possible sensitivity of results. The set holds everything that is possible, none of it included.
func returning(c contract.Contract, classes ...label.Class) contract.Contract {
	c.Returns = contract.Possible(classes...)
	return c
}

// fetches is the contract of a tool that changes nothing but whose argument, an address, reaches outsiders.
func fetches() contract.Contract {
	c := reads(label.UntrustedPublic)
	c.OpenWorld, c.Malicious = contract.Yes, contract.Yes
	c.Destinations = contract.Possible(contract.Public)
	return c
}
