package store_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

// The label of a session only rises, and that of its parent with it.
func Example() {
	ctx := context.Background()
	st := store.NewMemory(nil)
	if _, _, err := st.Open(ctx, store.Ref{Key: "c-1", Principal: "alice"}, store.Limits{}); err != nil {
		panic(err)
	}
	if _, _, err := st.Open(ctx, store.Ref{Key: "child", Principal: "alice", Parent: "c-1"}, store.Limits{}); err != nil {
		panic(err)
	}
	if _, _, err := st.Join(ctx, "child", label.Label{Untrusted: true}, store.Limits{}); err != nil {
		panic(err)
	}
	_, rises, err := st.Join(ctx, "child", label.Label{}, store.Limits{})
	if err != nil {
		panic(err)
	}
	parent, err := st.Get(ctx, "c-1")
	if err != nil {
		panic(err)
	}
	fmt.Println(parent.Label, len(rises))

	_, _, err = st.Open(ctx, store.Ref{Key: "c-1", Principal: "mallory"}, store.Limits{})
	fmt.Println(errors.Is(err, store.ErrPrincipal))
	// Output:
	// untrusted 0
	// true
}
