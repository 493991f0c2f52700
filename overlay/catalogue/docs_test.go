package catalogue_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/overlay/catalogue"
)

var update = flag.Bool("update", false, "write the table of docs/catalogue.md")

const (
	manual = "../../docs/catalogue.md"
	begin  = "<!-- the table of entries: go test ./overlay/catalogue -update -->\n"
	end    = "<!-- end of the table -->\n"
)

// TestManual holds the table of docs/catalogue.md to the entries.
func TestManual(t *testing.T) {
	data, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatal("the marks around the table are missing")
	}
	want := before + begin + table(t) + end + after
	if *update {
		if err := os.WriteFile(manual, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(data) != want {
		t.Error("the table of docs/catalogue.md is not that of the entries: go test ./overlay/catalogue -update")
	}
}

// table returns the rows: the entry, its server and source, the tools it names, the date, and the version it was
// checked against.
func table(t *testing.T) string {
	t.Helper()
	set, err := catalogue.Load()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	checked, tools := 0, 0
	rows := set.Entries()
	for _, e := range rows {
		if e.Checked != "" {
			checked++
		}
		tools += len(set.Named(e.Name).Names())
	}
	fmt.Fprintf(&b, "%d entries with %d tools; %d of them checked against the running server.\n\n", len(rows), tools, checked)
	b.WriteString("| entry | server | tools | date | checked |\n| --- | --- | ---: | --- | --- |\n")
	for _, e := range rows {
		truth := "yes: " + e.Checked
		if e.Checked == "" {
			truth = "no: " + e.Unchecked
		}
		fmt.Fprintf(&b, "| `%s` | [%s](%s) | %d | %s | %s |\n", e.Name, e.Title, e.Source, len(set.Named(e.Name).Names()), e.Date, truth)
	}
	return b.String()
}

// TestOnce holds that two entries are never about one package, program or address.
func TestOnce(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(src)) {
			what, isMatch := strings.CutPrefix(strings.TrimRight(line, "\n"), "      - ")
			if !isMatch {
				continue
			}
			if other := owner[what]; other != "" {
				t.Errorf("%s is in %s and %s", what, other, file)
			}
			owner[what] = file
		}
	}
	if len(owner) < len(files) {
		t.Errorf("%d files match %d things", len(files), len(owner))
	}
}
