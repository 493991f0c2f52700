package annotation_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"pgregory.net/rapid"
)

// A claims is one line of a table: a document, its meaning in the places of a dialect, and the places where it is defective.
type claims[T any] struct {
	document string
	want     T
	defects  []string
}

func checkTools(t *testing.T, tests []claims[contract.Contract]) {
	t.Helper()
	for _, test := range tests {
		got, defects := annotation.ReadTool([]byte(test.document))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%.160s: %s", test.document, diff)
		}
		if diff := cmp.Diff(test.defects, lines(defects)); diff != "" {
			t.Errorf("%.160s: defects: %s", test.document, diff)
		}
	}
}

func checkResults(t *testing.T, tests []claims[label.Label]) {
	t.Helper()
	for _, test := range tests {
		got, defects := annotation.ReadResult([]byte(test.document))
		if diff := cmp.Diff(test.want.Normal(), got.Label); diff != "" {
			t.Errorf("%.160s: %s", test.document, diff)
		}
		if diff := cmp.Diff(test.defects, lines(defects)); diff != "" {
			t.Errorf("%.160s: defects: %s", test.document, diff)
		}
		outlined, again := annotation.ReadResult(annotation.Outline([]byte(test.document)))
		if diff := cmp.Diff(got, outlined); diff != "" || len(again) != len(defects) {
			t.Errorf("%.160s: its outline says %s, with defects %v", test.document, diff, again)
		}
	}
}

// A written is one line of a table: a document before and after writing.
type written[T any] struct {
	document string
	say      T
	want     string
}

func writer(t interface{ Fatal(...any) }, ids ...string) annotation.Writer {
	w, err := annotation.NewWriter(ids...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func checkWritten[T any](t *testing.T, write func([]byte, T) ([]byte, error), tests []written[T]) {
	t.Helper()
	for _, test := range tests {
		got, err := write([]byte(test.document), test.say)
		if err != nil || string(got) != test.want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", test.document, got, err, test.want)
			continue
		}
		if again, err := write(got, test.say); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: written again: %s, %v", got, again, err)
		}
	}
}

func TestNewWriter(t *testing.T) {
	for _, test := range []struct {
		ids  []string
		want string
	}{
		{nil, ""},
		{annotation.Dialects()[:1], ""},
		{[]string{"sep-1913", "sep-2061"}, "sep-1913 and sep-2061 write the same members with different names: choose one"},
		{[]string{"sep-1"}, `unknown dialect "sep-1": use ` + strings.Join(annotation.Dialects(), ", ")},
	} {
		_, err := annotation.NewWriter(test.ids...)
		if got := ""; err != nil {
			if got = err.Error(); got != test.want {
				t.Errorf("%q: %s, want %s", test.ids, got, test.want)
			}
		} else if test.want != "" {
			t.Errorf("%q: no error, want %s", test.ids, test.want)
		}
	}
	for _, doc := range []string{`{}`, `{"_meta":{"ifc":1},"annotations":{"readOnlyHint":1}}`} {
		none := writer(t)
		tool, _ := none.WriteTool([]byte(doc), contract.Pessimistic())
		result, _ := none.WriteResult([]byte(doc), label.Label{Untrusted: true})
		request, _ := none.WriteRequest([]byte(doc), label.Label{Untrusted: true}, true)
		if string(tool) != doc || string(result) != doc || string(request) != doc {
			t.Errorf("a writer of nothing made %s, %s, %s of %s", tool, result, request, doc)
		}
	}
}

// everything draws a contract that uses every member.
func everything(t *rapid.T) contract.Contract {
	hint := func(name string) contract.Hint { return contract.Hint(rapid.IntRange(0, 2).Draw(t, name)) }
	c := aContract(t)
	c.RequiresReview, c.Trusted = hint("review"), hint("trusted")
	c.Output = contract.Output{Unsafe: hint("unsafe"), Secret: hint("secret"), Private: hint("private"), Sensitive: hint("sensitive")}
	c.Operation = contract.Operation{AIProcessing: hint("ai"), Slow: hint("slow"), Costly: hint("costly"),
		Privileged: hint("privileged"), Reversible: hint("reversible")}
	return c
}

// projections say which part of a contract a dialect has words for.
var projections = map[string]func(contract.Contract) contract.Contract{
	"mcp": func(c contract.Contract) contract.Contract {
		return contract.Contract{ReadOnly: c.ReadOnly, Destructive: c.Destructive, Idempotent: c.Idempotent, OpenWorld: c.OpenWorld}
	},
	"sep-1913": func(c contract.Contract) contract.Contract {
		return contract.Contract{Malicious: c.Malicious, Attribution: c.Attribution, Destinations: c.Destinations, Accepts: c.Accepts,
			Outcomes: c.Outcomes, Sources: c.Sources, Returns: c.Returns}
	},
	"sep-1913-2025-11": func(c contract.Contract) contract.Contract {
		return contract.Contract{Malicious: c.Malicious, Attribution: c.Attribution,
			Output: contract.Output{Private: c.Output.Private, Sensitive: c.Output.Sensitive}}
	},
	"sep-2061": func(c contract.Contract) contract.Contract {
		return contract.Contract{Destinations: c.Destinations, Accepts: unscoped(c.Accepts), Outcomes: c.Outcomes,
			Sources: c.Sources, Returns: unscoped(c.Returns)}
	},
	"sep-1487": func(c contract.Contract) contract.Contract { return contract.Contract{Trusted: c.Trusted} },
	"sep-1560": func(c contract.Contract) contract.Contract {
		return contract.Contract{Output: contract.Output{Secret: c.Output.Secret}}
	},
	"sep-1561": func(c contract.Contract) contract.Contract {
		return contract.Contract{Output: contract.Output{Unsafe: c.Output.Unsafe}}
	},
	"sep-1984": func(c contract.Contract) contract.Contract {
		return contract.Contract{Output: contract.Output{Sensitive: c.Output.Sensitive}, Operation: c.Operation}
	},
	"action-metadata": func(c contract.Contract) contract.Contract {
		return contract.Contract{RequiresReview: c.RequiresReview, Destinations: c.Destinations, Accepts: unscoped(c.Accepts),
			Outcomes: c.Outcomes, Sources: c.Sources, Returns: unscoped(c.Returns)}
	},
}

// unscoped returns the classes with every scope of regulated data forgotten.
func unscoped(v classes) classes {
	set, known := v.Known()
	if !known {
		return classes{}
	}
	var out []label.Class
	for class := range set.All() {
		if _, scoped := class.Scope(); scoped {
			class = label.Regulated
		}
		out = append(out, class)
	}
	return contract.Possible(out...)
}

// A label that a dialect has words for comes back as it was, and other members are not written.
func TestDialectsAreReadAsWritten(t *testing.T) {
	for id, project := range projections {
		t.Run(id, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c := everything(t)
				doc := []byte(inside(t, "name", `"t"`, "annotations", inside(t), "_meta", inside(t)))
				tool, err := writer(t, id).WriteTool(doc, c)
				if err != nil || rawjson.Check(tool) != nil {
					t.Fatalf("%s: %v %v", tool, err, rawjson.Check(tool))
				}
				got, defects := annotation.ReadTool(tool)
				if diff := cmp.Diff(project(c), got); diff != "" || len(defects) > 0 {
					t.Fatalf("%s\n%s\n%v", tool, diff, defects)
				}
				if again, err := writer(t, id).WriteTool(tool, c); err != nil || !bytes.Equal(again, tool) {
					t.Fatalf("written again: %s, %v, want %s", again, err, tool)
				}
				for _, member := range unknownMembers(doc) {
					if !slices.Contains(unknownMembers(tool), member) {
						t.Fatalf("%s became %s, which lost %s", doc, tool, member)
					}
				}
			})
		})
	}
}

// unknownMembers returns the members of a document, of its annotations and its _meta that no dialect knows.
func unknownMembers(doc []byte) (all []string) {
	for _, path := range [][]string{{}, {"annotations"}, {"_meta"}} {
		object, _ := rawjson.Get(doc, path...)
		for name, value := range rawjson.Members(object) {
			if slices.Contains([]string{"x", "y", "z", "vendor/x", `"`, "", "vendorHint"}, name) {
				all = append(all, name+"="+string(value))
			}
		}
	}
	return all
}

// readersOf draws a label with readers.
func readersOf(t *rapid.T) label.Label {
	l := aLabel(t)
	if rapid.Bool().Draw(t, "limited") {
		l.Readers = label.OnlyReaders(some(t, 0, "alice", "bob", "carol")...)
	}
	l.Private = l.Private || rapid.Bool().Draw(t, "private")
	return l.Normal()
}

// spoken draws the _meta of a result in every dialect, right or wrong.
func spoken(t *rapid.T) string {
	one := func(values ...string) string { return rapid.SampledFrom(values).Draw(t, "one") }
	part := func() string {
		return inside(t, "integrity", one(`"trusted"`, `"untrusted"`, `1`), "confidentiality", one(`["public"]`, `["alice","bob"]`, `[]`, `[1]`, `"private"`, `"?"`))
	}
	return inside(t, "annotations", annotated(t), "ifc", one(part(), `1`),
		"com.github.ifc/labels", one(inside(t, "$", part(), "$.a", part(), "b", `1`), `[]`),
		"io.modelcontextprotocol/trust-annotations", one(inside(t, "sensitive", one(`true`, `false`, `1`), "untrusted", one(`true`, `false`)), `null`))
}

// Writing to a result or a request, in any dialects, keeps every earlier claim.
func TestDialectsNeverLower(t *testing.T) {
	ids := slices.DeleteFunc(annotation.Dialects(), func(id string) bool { return id == "sep-2061" })
	rapid.Check(t, func(t *rapid.T) {
		w := writer(t, annotation.Lossless(some(t, 1, ids...)...)...)
		doc, l := []byte(inside(t, "_meta", spoken(t))), readersOf(t)
		result, err := w.WriteResult(doc, l)
		if err != nil || rawjson.Check(result) != nil {
			t.Fatalf("%s: %v", result, err)
		}
		before, _ := annotation.ReadResult(doc)
		after, _ := annotation.ReadResult(result)
		if !after.Label.Covers(before.Label) {
			t.Fatalf("%s\nclaims %+v\n%s\nclaims %+v", doc, before.Label, result, after.Label)
		}
		request, err := w.WriteRequest(doc, l, true)
		if err != nil || rawjson.Check(request) != nil {
			t.Fatalf("%s: %v", request, err)
		}
		seen, _ := annotation.ReadRequest(doc)
		if now, _ := annotation.ReadRequest(request); !now.Covers(seen) {
			t.Fatalf("%s\nclaims %+v\n%s\nclaims %+v", doc, seen, request, now)
		}
		if again, err := w.WriteResult(result, l); err != nil || !bytes.Equal(again, result) {
			t.Fatalf("%s\nwritten again: %s, %v", result, again, err)
		}
	})
}

// A label that a dialect of results has words for comes back.
func TestLabelsAreReadAsWritten(t *testing.T) {
	user := label.SetOf(label.User)
	for id, project := range map[string]func(label.Label) label.Label{
		"sep-1913-2025-11": func(l label.Label) label.Label {
			out := label.Label{Untrusted: l.Untrusted, Malicious: l.Malicious, Private: l.Private, Attribution: l.Attribution}
			if l.Sensitivity.Without(user).Len() > 0 {
				out.Sensitivity = label.SetOf(label.Unspecified)
			}
			return out
		},
		"trust-annotations": func(l label.Label) label.Label {
			out := label.Label{Untrusted: l.Untrusted, Private: l.Private}
			if l.Private {
				out.Sensitivity = label.SetOf(label.Unspecified)
			}
			return out
		},
		"ifc": func(l label.Label) label.Label { return label.Label{Untrusted: l.Untrusted, Private: l.Private} },
		"ifc-readers": func(l label.Label) label.Label {
			return label.Label{Untrusted: l.Untrusted, Readers: l.Readers}.Normal()
		},
	} {
		t.Run(id, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				l := readersOf(t)
				result, err := writer(t, id).WriteResult([]byte(`{"content":[]}`), l)
				if err != nil {
					t.Fatal(err)
				}
				if got, _ := annotation.ReadResult(result); !got.Label.Equal(project(l)) {
					t.Fatalf("%s\nsays %+v\nwant %+v", result, got.Label, project(l))
				}
			})
		})
	}
}
