package main

import (
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// inReadme is "readme FILE": it checks that the text that the README shows below "$ go run ./cmd/weir demo" stands in
// the file, piece by piece; "…" on a line of its own stands for lines that the README leaves out.
func inReadme(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(readme)
	ts.Check(err)
	_, after, found := strings.Cut(string(text), "$ go run ./cmd/weir demo\n")
	shown, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		ts.Fatalf("the README shows no demo")
	}
	printed := ts.ReadFile(args[0])
	for piece := range strings.SplitSeq(shown, "…\n") {
		if !strings.Contains(printed, piece) {
			ts.Fatalf("the README shows text that the demo does not print:\n%s", piece)
		}
	}
}
