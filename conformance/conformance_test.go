package conformance_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

func files(t *testing.T) []conformance.File {
	t.Helper()
	all, err := conformance.Files()
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	return all
}

// hints and sets are the members of a contract by their names in the vectors.
func hints(c *contract.Contract) map[string]*contract.Hint {
	return map[string]*contract.Hint{
		"readOnlyHint": &c.ReadOnly, "destructiveHint": &c.Destructive, "idempotentHint": &c.Idempotent, "openWorldHint": &c.OpenWorld,
		"maliciousActivityHint": &c.Malicious, "requiresReview": &c.RequiresReview, "trustedHint": &c.Trusted,
		"unsafeOutputHint": &c.Output.Unsafe, "secretHint": &c.Output.Secret, "privateHint": &c.Output.Private,
		"sensitiveDataHint": &c.Output.Sensitive, "aiProcessingHint": &c.Operation.AIProcessing, "slowExecutionHint": &c.Operation.Slow,
		"resourceIntensiveHint": &c.Operation.Costly, "privilegedAccessHint": &c.Operation.Privileged, "reversibleHint": &c.Operation.Reversible,
	}
}

// contractOf returns the contract of a vector.
func contractOf(t *testing.T, v conformance.Contract) (c contract.Contract) {
	t.Helper()
	hints := hints(&c)
	for name, value := range v {
		if b, ok := value.(bool); ok && hints[name] != nil {
			*hints[name] = contract.HintOf(b)
			continue
		}
		var words []string
		for _, word := range value.([]any) {
			words = append(words, word.(string))
		}
		switch name {
		case "attribution":
			c.Attribution = label.SetOf(words...)
		case "inputMetadata.destination":
			c.Destinations = contract.Possible(as[contract.Destination](words)...)
		case "inputMetadata.sensitivity":
			c.Accepts = contract.Possible(as[label.Class](words)...)
		case "inputMetadata.outcomes":
			c.Outcomes = contract.Possible(as[contract.Outcome](words)...)
		case "returnMetadata.source":
			c.Sources = contract.Possible(as[label.Source](words)...)
		case "returnMetadata.sensitivity":
			c.Returns = contract.Possible(as[label.Class](words)...)
		default:
			t.Fatalf("unknown member %s", name)
		}
	}
	return c
}

func as[T ~string](words []string) []T {
	out := make([]T, len(words))
	for i, word := range words {
		out[i] = T(word)
	}
	return out
}

// labelOf returns the label of a vector.
func labelOf(v *conformance.Label) label.Label {
	if v == nil {
		return label.Label{}
	}
	l := label.Label{
		Untrusted: v.Untrusted, Private: v.Private, Malicious: v.Malicious, Attribution: label.SetOf(v.Attribution...),
		Sensitivity: label.SetOf(as[label.Class](v.Sensitivity)...), Sources: label.SetOf(as[label.Source](v.Sources)...),
	}
	if v.Readers != nil {
		l.Readers = label.OnlyReaders(*v.Readers...)
	}
	return l
}

func readerOf(f conformance.File) annotation.Reader {
	meanings := annotation.Meanings{}
	for name, values := range f.Meanings {
		meanings[name] = map[string][]label.Class{}
		for value, classes := range values {
			meanings[name][value] = as[label.Class](classes)
		}
	}
	return annotation.NewReader(meanings)
}

func TestRead(t *testing.T) {
	for _, f := range files(t) {
		t.Run(f.Dialect, func(t *testing.T) {
			for _, v := range f.Read {
				if diff := read(t, readerOf(f), v); diff != "" {
					t.Errorf("%s, %s: %.300s\n%s", v.Name, v.Place, v.Document, diff)
				}
			}
		})
	}
}

// read returns how the reading of a vector differs from its expected meaning.
func read(t *testing.T, r annotation.Reader, v conformance.Read) (diff string) {
	t.Helper()
	var found []annotation.Defect
	switch v.Place {
	case "tool", "resolved":
		var got contract.Contract
		if got, found = r.ReadTool(v.Document); v.Place == "resolved" {
			got, found = r.ReadResolved(v.Document)
		}
		diff = cmp.Diff(contractOf(t, v.Contract), got)
	case "result":
		var got annotation.Claim
		got, found = r.ReadResult(v.Document)
		diff = cmp.Diff(labelOf(v.Label), got.Label)
		if v.Stated != nil {
			diff += cmp.Diff(contractOf(t, v.Stated), got.Stated)
		}
		var evidence []conformance.Evidence
		for _, e := range got.Evidence {
			evidence = append(evidence, conformance.Evidence(e))
		}
		diff += cmp.Diff(v.Evidence, evidence)
	case "request":
		var got label.Label
		got, found = r.ReadRequest(v.Document)
		diff = cmp.Diff(labelOf(v.Label), got)
	default:
		t.Fatalf("unknown place %s", v.Place)
	}
	var defects []string
	for _, d := range found {
		defects = append(defects, d.Where)
	}
	slices.Sort(defects)
	if v.Kind == "invalid" != (len(defects) > 0) {
		diff += "it is " + v.Kind
	}
	return diff + cmp.Diff(v.Defects, defects, cmpopts.EquateEmpty())
}

func TestWrite(t *testing.T) {
	for _, f := range files(t) {
		t.Run(f.Dialect, func(t *testing.T) {
			for _, v := range f.Write {
				got, err := write(t, f.Dialect, v)
				if err != nil || string(rawjson.Canonical(got)) != string(rawjson.Canonical(v.Want)) {
					t.Errorf("%s:\ngot  %s, %v\nwant %s", v.Name, got, err, v.Want)
				}
				v.Document = got
				if again, err := write(t, f.Dialect, v); err != nil || string(again) != string(got) {
					t.Errorf("%s, written again: %s, %v", v.Name, again, err)
				}
			}
		})
	}
}

func write(t *testing.T, dialect string, v conformance.Write) ([]byte, error) {
	t.Helper()
	w, err := annotation.NewWriter(dialect)
	if err != nil {
		t.Fatal(err)
	}
	switch v.Place {
	case "tool":
		return w.WriteTool(v.Document, contractOf(t, v.Contract))
	case "result":
		return w.WriteResult(v.Document, labelOf(v.Label))
	case "request":
		return w.WriteRequest(v.Document, labelOf(v.Label), true)
	}
	t.Fatalf("unknown place %s", v.Place)
	return nil, nil
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
