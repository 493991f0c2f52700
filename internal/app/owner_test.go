package app

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/owner"
)

// TestNoAnswerIsNoAllow has an owner answer with JSON that is no decision: an allow is never read into it.
func TestNoAnswerIsNoAllow(t *testing.T) {
	dir, err := os.MkdirTemp("", "h") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	env := &home.Env{Environ: []string{"HOME=" + dir}}
	own, err := env.OwnerDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{}", "null", "", "[]", `{"Status":0}`, `{"answered":"yes"}`, `{"answered":false,"Status":0}`} {
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- owner.Serve(ctx, owner.Options{Dir: own, Build: time.Now().Add(time.Hour), Answer: func(context.Context, owner.Request) ([]byte, error) {
				return []byte(text), nil
			}})
		}()
		for { // until it serves
			if _, err := os.Stat(filepath.Join(own, "socket")); err == nil && (&owner.Client{Dir: own}).Served(ctx) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if out, err := AskOwner(ctx, env, &HookRequest{Host: "codex", Event: "PreToolUse"}, []byte("{}")); err == nil {
			t.Errorf("%q is read as %+v", text, out)
		}
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if text, err := json.Marshal(hookAnswer{Answered: true}); err != nil || string(text) != `{"answered":true,"Stdout":"","Stderr":"","Status":0}` {
		t.Errorf("an allow is %s, %v", text, err)
	}
}
