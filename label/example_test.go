package label_test

import (
	"fmt"

	"github.com/weir-mcp/weir/label"
)

func ExampleJoin() {
	mail := label.Label{Untrusted: true, Attribution: label.SetOf("imap://mail.example")}
	staff := label.Label{Sensitivity: label.SetOf(label.PII)}.Normal()
	fmt.Println(label.Join(mail, staff))
	// Output: untrusted private sensitivity=["pii"] attribution=["imap://mail.example"]
}

func ExampleLabel_Covers() {
	session := label.Label{Untrusted: true, Private: true}
	fmt.Println(session.Covers(label.Label{Private: true}), session.Covers(label.Label{Malicious: true}))
	// Output: true false
}

func ExampleLabel_Without() {
	before, after := label.Label{Private: true}, label.Label{Private: true, Untrusted: true}
	fmt.Println(after.Without(before))
	// Output: untrusted
}

// A number that is read of a text is as private as the text, and too little to carry orders.
func ExampleLabel_Typed() {
	letter := label.Label{Untrusted: true, Sensitivity: label.SetOf(label.Financial)}.Normal()
	fmt.Println(letter.Typed())
	// Output: private sensitivity=["financial"]
}

func ExampleLabel_String() {
	fmt.Println(label.Label{})
	fmt.Println(label.Label{Readers: label.OnlyReaders("ann")}.Normal())
	// Output:
	// nothing
	// private readers=["ann"]
}

func ExampleOnlyReaders() {
	both := label.OnlyReaders("ann", "bob").Join(label.OnlyReaders("bob", "eve"))
	fmt.Println(both.Allows("bob"), both.Allows("ann"))
	// Output: true false
}

func ExampleRegulatedBy() {
	fmt.Println(label.RegulatedBy("GDPR").Scope())
	// Output: GDPR true
}
