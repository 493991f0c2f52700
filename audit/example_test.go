package audit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A log is in a database, and its anchor elsewhere: who changes the one is found out by the other.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "weir-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlstore.Open(ctx, filepath.Join(dir, "store", "state.db"), nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	anchor, err := audit.OpenAnchor(filepath.Join(dir, "anchor"), "example.com/weir", nil)
	if err != nil {
		panic(err)
	}
	log, err := audit.Open(ctx, db.Log(), anchor)
	if err != nil {
		panic(err)
	}
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	first, err := log.Storage().Append(ctx, []audit.Entry{
		{Time: now, Chain: "session 1", Kind: "decision", Subject: "mail/send", Outcome: "block", Body: []byte(`{"rule":"r"}`)},
		{Time: now, Chain: "session 1", Kind: "decision", Subject: "mail/read", Body: []byte(`{}`)},
	})
	if err != nil {
		panic(err)
	}
	note, err := log.Checkpoint(ctx) // to give to another party
	if err != nil {
		panic(err)
	}
	report, err := audit.Verify(ctx, log.Storage(), audit.VerifyOptions{Anchor: anchor})
	if err != nil {
		panic(err)
	}
	proof, err := log.Prove(ctx, first)
	if err != nil {
		panic(err)
	}
	verifier := anchor.Key().Verifier()
	fmt.Println(report.Result(), proof.Check(verifier), audit.Extends(ctx, log.Storage(), note, verifier))

	other, err := audit.NewKey("example.com/weir")
	if err != nil {
		panic(err)
	}
	_, err = audit.Open(ctx, db.Log(), audit.NewAnchor(other))
	fmt.Println("with another anchor:", err != nil)
	// Output:
	// ok <nil> <nil>
	// with another anchor: true
}
