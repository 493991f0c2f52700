package contract_test

import (
	"fmt"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

func ExampleReads() {
	inbox := contract.Reads(label.UntrustedPublic).Returning(label.PII)
	fmt.Println(inbox.Label())
	// Output: untrusted private sensitivity=["pii"] source=["untrustedPublic"]
}

func ExampleWrites() {
	c := contract.Writes(contract.Internal)
	fmt.Println(c.Outcomes, "at", c.Destinations, "open world:", c.OpenWorld)
	// Output: consequential at internal open world: no
}

func ExampleSends() {
	c := contract.Sends(contract.Internal, contract.Public)
	fmt.Println(c.Outcomes, "to", c.Destinations, "open world:", c.OpenWorld)
	// Output: irreversible to internal, public open world: yes
}

// A fetcher changes nothing, but whoever runs the site learns of the address.
func ExampleContract_To() {
	fetch := contract.Reads(label.UntrustedPublic).To(contract.Public)
	fmt.Println(fetch.Destinations, fetch.OpenWorld)
	// Output: public yes
}

func ExampleContract_Narrows() {
	declared := contract.Sends(contract.Internal)
	fmt.Println(declared.Narrows(declared.To(contract.Public)))
	// Output: [openWorldHint inputMetadata.destination]
}

func ExampleContract_Outside() {
	declared := contract.Reads(label.Internal).Returning()
	fmt.Println(declared.Outside(label.Label{Sensitivity: label.SetOf(label.Credentials)}))
	// Output: [returnMetadata.sensitivity]
}

// Unknown is never safe: the worst takes its place.
func ExampleContract_Assume() {
	full := contract.Contract{ReadOnly: contract.Yes}.Assume()
	fmt.Println(full.Outcomes, full.Destinations, full.Sources)
	// Output: benign public untrustedPublic
}

// A server that nobody vouches for can only raise the worst case.
func ExampleEffective() {
	claim := contract.Reads(label.System)
	fmt.Println(contract.Effective(claim, contract.Untrusted).Sources)
	fmt.Println(contract.Effective(claim, contract.Trusted).Sources)
	// Output:
	// system, untrustedPublic
	// system
}
