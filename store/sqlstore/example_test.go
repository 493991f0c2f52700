package sqlstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A label outlives the process that joined it.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "weir-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	target := filepath.Join(dir, "state", "state.db") // or postgres://weir@db.example.com/weir
	db, err := sqlstore.Open(ctx, target, nil)
	if err != nil {
		panic(err)
	}
	if _, _, err := db.Open(ctx, store.Ref{Key: "c-1", Principal: "alice"}, store.Limits{}); err != nil {
		panic(err)
	}
	if _, _, err := db.Join(ctx, "c-1", label.Label{Untrusted: true}, store.Limits{}); err != nil {
		panic(err)
	}
	if err := db.Close(); err != nil {
		panic(err)
	}
	if db, err = sqlstore.Open(ctx, target, nil); err != nil {
		panic(err)
	}
	defer db.Close()
	s, err := db.Get(ctx, "c-1")
	if err != nil {
		panic(err)
	}
	fmt.Println(db.Kind(), s.Label)
	// Output: sqlite untrusted
}
