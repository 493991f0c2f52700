package e2e

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fsck is other people's program that checks a static log of c2sp.org/tlog-tiles: each leaf, each tile and the checkpoint.
const fsck = "github.com/transparency-dev/tessera/cmd/fsck@v1.0.4"

// TestTlogTiles has that program check a log that weir exported, after its key was changed and more was written, and the same log
// under a checkpoint that was changed.
func TestTlogTiles(t *testing.T) {
	needEnabled(t)
	bin := t.TempDir()
	install := exec.Command("go", "install", fsck)
	install.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("installing %s: %v\n%s", fsck, err, out)
	}
	c, h := newCounted(t, secretsStay), newHistory()
	d := &disk{random: rand.New(rand.NewPCG(1, 2))}
	for _, when := range []string{"before", "after"} {
		host, ready := greet(t, c.start(t))
		if !ready {
			t.Fatal("weir does not start")
		}
		for i := range 8 {
			d.call(t, host, h, name(when, i))
		}
		host.m.end(t)
		if when == "before" {
			c.output(t, "audit", "rotate")
		}
	}
	dir := filepath.Join(t.TempDir(), "log")
	c.output(t, "audit", "export", "--tiles", dir)
	key := filepath.Join(c.dir, "key")
	if err := os.WriteFile(key, c.output(t, "audit", "key"), 0o600); err != nil {
		t.Fatal(err)
	}
	accepts := func() (bool, string) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "fsck"), "--storage_url=file://"+dir+"/", "--public_key="+key, "--ui=false")
		out, err := cmd.CombinedOutput()
		return err == nil && bytes.Contains(out, []byte("Successfully fsck'd log with size ")), string(out) // its status says nothing
	}
	ok, said := accepts()
	if !ok {
		t.Fatalf("it does not accept the log: %.2000s", said)
	}
	t.Logf("%s", said[strings.Index(said, "Successfully"):])
	path := filepath.Join(dir, "checkpoint")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfterN(text, []byte("\n"), 4)
	if len(lines) != 4 {
		t.Fatalf("a checkpoint of %d lines", len(lines))
	}
	for i := range 3 { // the origin, the size, the root
		changed := slices.Clone(lines)
		changed[i] = bytes.Clone(lines[i])
		changed[i][0] ^= 1
		if err := os.WriteFile(path, bytes.Join(changed, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		if ok, _ := accepts(); ok {
			t.Errorf("it accepts a checkpoint with a changed line %q", changed[i])
		}
	}
}
