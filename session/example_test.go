package session_test

import (
	"context"
	"fmt"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/session"
)

// A child starts with its parent's label, and joins back into it.
func ExampleSessions_Raise() {
	ctx := context.Background()
	s := session.New(session.Options{})
	for _, ref := range []session.Ref{{Key: "chat", Principal: "ann"}, {Key: "helper", Parent: "chat", Principal: "ann"}} {
		if _, _, err := s.Open(ctx, ref); err != nil {
			fmt.Println(err)
		}
	}
	change, err := s.Raise(ctx, "helper", label.Label{Untrusted: true})
	fmt.Println(change.Raised, err)
	parent, err := s.Snapshot(ctx, "chat")
	fmt.Println(parent.Label, err)
	// Output:
	// true <nil>
	// untrusted <nil>
}
