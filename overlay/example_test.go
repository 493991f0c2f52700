package overlay_test

import (
	"fmt"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/overlay"
)

// An operator describes a server that says nothing of its tools.
func ExampleLoad() {
	set, err := overlay.Load("mail.yaml", []byte(`
version: 1
overlays:
  - name: mail
    match: [{server: mail}]
    tools:
      send:
        contract: {destinations: [public], outcomes: [irreversible]}
        when:
          - if: host.within(email.domain(call.arguments.to), "example.com")
            contract: {destinations: [internal]}
            why: colleagues
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	send := set.For(overlay.Server{Name: "mail"}).Tool("send")
	fmt.Println(send.Effective(contract.Contract{}, contract.Untrusted).Destinations)
	refined, notes := send.Refine([]byte(`{"to":"ann@example.com"}`))
	fmt.Println(refined.Destinations, notes[0].Why)
	// Output:
	// internal, public
	// internal colleagues
}
