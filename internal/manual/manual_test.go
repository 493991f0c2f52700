package manual_test

import (
	"os"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/manual"
)

// page returns a page with one transcript.
func page(lines ...string) string {
	return "# A page\n\n```console\n" + strings.Join(lines, "\n") + "\n```\n"
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name, page string
		wrong      string // part of the error; empty if the page holds
	}{
		{"the same output", page("$ echo one", "one"), ""},
		{"other output", page("$ echo one", "two"), "the page shows"},
		{"more output", page("$ printf 'one\\ntwo\\n'", "one"), "the page shows"},
		{"less output", page("$ echo one", "one", "two"), "the page shows"},
		{"no output shown", page("$ echo one"), ""},
		{"lines left out", page("$ printf 'one\\ntwo\\nthree\\n'", "one", "…", "three"), ""},
		{"no lines left out", page("$ echo one", "one", "…"), ""},
		{"left out, and another end", page("$ printf 'one\\ntwo\\n'", "…", "one"), "the page shows"},
		{"text left out", page("$ echo one two", "o…two"), ""},
		{"text left out does not pass lines", page("$ printf 'one\\ntwo\\n'", "o…two"), "the page shows"},
		{"special characters", page("$ echo 'a.c'", "abc"), "the page shows"},
		{"standard error", page("$ echo one >&2", "one"), ""},
		{"a failure", page("$ false"), "exit status 1, want 0"},
		{"an expected failure", page("$ sh -c 'exit 3' # exit status 3"), ""},
		{"another failure", page("$ true # exit status 3"), "exit status 0, want 3"},
		{"one session", page("$ mkdir d && cd d", "$ x=1", "$ echo $x ${PWD##*/}", "1 d"), ""},
		{"a long command", page("$ echo one \\", "    two", "one two"), ""},
		{"a background process", page("$ sleep 1000 &", "$ echo one", "one"), ""},
		{"an end in the middle", page("$ exit 0", "$ echo one"), "0 of 2 commands ended"},
		{"output before a command", page("one"), "output before the first command"},
		{"a file", "```yaml title=\"d/a.yaml\"\na: $HOME\n```\n" + page("$ cat d/a.yaml", "a: $HOME"), ""},
		{"a file elsewhere", "```yaml title=\"../a.yaml\"\na: 1\n```\n", "outside of the directory"},
		{"an illustration", "```sh\nfalse\n```\n", ""},
		{"an open block", "```console\n$ true\n", "not closed"},
		{"ports", page("$ echo 127.0.0.1:8080 127.0.0.1:8080", "127.0.0.1:8080 127.0.0.1:8080"), ""},
		{"a free port", page("$ test 127.0.0.1:8080 = \"127.0.0.1:80\"80 # exit status 1"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := manual.Run(t.Context(), c.page, t.TempDir(), os.Environ())
			switch {
			case c.wrong == "" && err != nil:
				t.Error(err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Errorf("got %v, want %q", err, c.wrong)
			}
		})
	}
}

func TestShown(t *testing.T) {
	blocks, err := manual.Shown("```console\n$ x\n```\n```yaml title=\"a.yaml\"\n```\n```go\nx\n```\n")
	if err != nil || len(blocks) != 1 || blocks[0].Language != "go" || blocks[0].Line != 6 || blocks[0].Text != "x\n" {
		t.Errorf("%+v, %v", blocks, err)
	}
}
