package conformance_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/contract"
)

func files(t *testing.T) []conformance.File {
	t.Helper()
	all, err := conformance.Files()
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	return all
}

// The three e-mail tools of SEP-2061 give the same contract in its own spelling and in SEP-1913's.
func TestEmails(t *testing.T) {
	contracts := map[string][]contract.Contract{}
	for _, f := range files(t) {
		for _, v := range f.Read {
			if v.Same != "" {
				c, _ := annotation.ReadTool(v.Document)
				contracts[v.Same] = append(contracts[v.Same], c)
			}
		}
	}
	for _, name := range []string{"read_drafts", "list_inbox", "send_email"} {
		if same := contracts[name]; len(same) != 2 || !same[0].Equal(same[1]) || same[0].Equal(contract.Contract{}) {
			t.Errorf("%s: %v", name, same)
		}
	}
}

// Every dialect has vectors, with names that are unique, of every kind, and both ways where it can be written.
func TestVectorsCoverTheDialects(t *testing.T) {
	found := map[string]bool{}
	for _, f := range files(t) {
		found[f.Dialect] = true
		kinds, names := map[string]int{}, map[string]bool{}
		for _, v := range f.Read {
			kinds[v.Kind]++
			if key := "read " + v.Name + v.Place; names[key] {
				t.Errorf("%s: %s is there twice", f.Dialect, v.Name)
			} else {
				names[key] = true
			}
		}
		if f.Dialect != "emails" && (kinds["valid"] == 0 || kinds["borderline"] == 0 || kinds["invalid"] == 0) {
			t.Errorf("%s: %v", f.Dialect, kinds)
		}
		if slices.Contains(annotation.Dialects(), f.Dialect) != (len(f.Write) > 0) {
			t.Errorf("%s has %d vectors of writing", f.Dialect, len(f.Write))
		}
		for _, v := range f.Read {
			if !json.Valid(v.Document) || annotation.Check(v.Document) != nil {
				t.Errorf("%s: %s is no document: %s", f.Dialect, v.Name, v.Document)
			}
		}
	}
	for _, id := range append(annotation.Dialects(), "organization") {
		if !found[id] {
			t.Errorf("%s has no vectors", id)
		}
	}
}
