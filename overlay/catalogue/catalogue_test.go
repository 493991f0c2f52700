package catalogue_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/overlay/catalogue"
)

// Each file loads, and says where its facts come from; whom it is for is a package, a program or a URL, never what a server is
// called.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	named := map[string]string{}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			set, err := overlay.Load(file, src)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range set.Entries() {
				if other := named[e.Name]; other != "" {
					t.Errorf("%s is in %s too", e.Name, other)
				}
				named[e.Name] = file
				checkEntry(t, e)
				checkTools(t, e.Name, set.Named(e.Name))
			}
			if set.For(overlay.Server{Name: set.Entries()[0].Name}) != nil {
				t.Error("it applies to a server by its name alone")
			}
		})
	}
}

func checkEntry(t *testing.T, e overlay.Entry) {
	t.Helper()
	if e.Title == "" || e.Date == "" || !strings.HasPrefix(e.Source, "https://") {
		t.Errorf("%s needs a title, a source that is an https address, and a date", e.Name)
	}
	if (e.Checked == "") == (e.Unchecked == "") {
		t.Errorf("%s needs either checked or unchecked", e.Name)
	}
}

// checkTools wants of every tool what decisions depend on most: a member that is left out is taken for the worst.
func checkTools(t *testing.T, entry string, o *overlay.Overlay) {
	t.Helper()
	if len(o.Names()) == 0 {
		t.Errorf("%s names no tool", entry)
	}
	for _, name := range o.Names() {
		c := o.Tool(name).Static()
		if c.ReadOnly == contract.Unknown {
			t.Errorf("%s: %s does not say whether it is readOnly", entry, name)
		}
		if c.OpenWorld == contract.Unknown {
			t.Errorf("%s: %s does not say whether it is openWorld", entry, name)
		}
		if _, ok := c.Sources.Known(); !ok {
			t.Errorf("%s: %s does not say where its results come from", entry, name)
		}
	}
}

func TestLoad(t *testing.T) {
	set, err := catalogue.Load()
	if err != nil {
		t.Fatal(err)
	}
	memory := set.For(overlay.Server{Name: "x", Command: []string{"npx", "-y", "@modelcontextprotocol/server-memory"}})
	if c := memory.Tool("delete_entities").Static(); c.Destructive != contract.Yes {
		t.Errorf("delete_entities: %v", c)
	}
	if other := set.For(overlay.Server{Name: "memory", Command: []string{"npx", "-y", "memory"}}); other != nil {
		t.Errorf("another package: %+v", other.Entries())
	}
}
