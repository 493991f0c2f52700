package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/manual"
)

// elsewhere are the pages whose examples another test runs.
var elsewhere = map[string]string{
	"tutorial.md": "it needs npm packages: TestTutorial in e2e",
}

// needed are programs beyond a shell that the examples of a page use; without them the page is skipped.
var needed = map[string]string{"operating.md": "curl"}

// tested are the pages on which each fenced block has to be an example, except those in illustrations.
var tested = []string{"README.md", "docs/tutorial.md", "docs/cookbook.md", "docs/operating.md", "docs/model.md"}

// illustrations are the blocks of the tested pages that no test runs, by a text in them, and the reason.
var illustrations = map[string]string{
	"go install ./cmd/weir":                   "it writes to the user's own directory of programs",
	"without Weir   6 of 6 attacks succeeded": "the script demo.txtar holds it",
	`{"mcpServers": {`:                        "the entry of a host, which the tests of wrap have",
	"go test ./...":                           "the test itself",
	"store: postgres://":                      "it needs a database server: the tests of the store have one",
	"┌───":                                    "a diagram",
}

// TestPages runs the examples of the documentation.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, file := range append(pages, "../../README.md") {
		name := filepath.Base(file)
		if elsewhere[name] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if program := needed[name]; program != "" {
				if _, err := exec.LookPath(program); err != nil {
					t.Skip(err)
				}
			}
			page, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a page that hangs fails by its name
			defer cancel()
			dir := t.TempDir()
			env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0",
				"WEIR_SCRIPTED_APPROVAL=1"} // in the place of a person who says yes
			if err := manual.Run(ctx, string(page), dir, env); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestIllustrations holds the tested pages to show nothing that is not run.
func TestIllustrations(t *testing.T) {
	used := map[string]bool{}
	for _, name := range tested {
		page, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := manual.Shown(string(page))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range shown {
			known := false
			for text := range illustrations {
				if strings.Contains(b.Text, text) {
					known, used[text] = true, true
				}
			}
			if !known {
				t.Errorf("%s:%d: this block is no example: see package internal/manual", name, b.Line)
			}
		}
	}
	for text := range illustrations {
		if !used[text] {
			t.Errorf("no page shows %q any more", text)
		}
	}
}
