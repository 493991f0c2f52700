package annotation_test

import (
	"bytes"
	"fmt"
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

func some[T ~string](t *rapid.T, least int, of ...T) []T {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(of), least, len(of), rapid.ID).Draw(t, "some")
}

func someClasses(t *rapid.T) []label.Class {
	return some(t, 0, label.User, label.PII, label.Financial, label.Credentials, label.Regulated, "regulated:GDPR", "regulated:é\"\\", "regulated:a:b")
}

func someURIs(t *rapid.T) label.Set[string] {
	return strs(some(t, 0, "mcp://a/b", "urn:org:acme", "https://x/?q=\"1\"", "local:anonymous/é")...)
}

// aContract draws any contract that SEP-1913 has words for: the members of one object are known together.
func aContract(t *rapid.T) contract.Contract {
	hint := func() contract.Hint { return contract.Hint(rapid.IntRange(0, 2).Draw(t, "hint")) }
	c := contract.Contract{ReadOnly: hint(), Destructive: hint(), Idempotent: hint(), OpenWorld: hint(), Malicious: hint(), Attribution: someURIs(t)}
	if rapid.Bool().Draw(t, "input") {
		c.Destinations = to(some(t, 1, contract.Ephemeral, contract.System, contract.User, contract.Internal, contract.Public)...)
		c.Accepts = sensitive(someClasses(t)...)
		c.Outcomes = does(some(t, 1, contract.Benign, contract.Consequential, contract.Irreversible)...)
	}
	if rapid.Bool().Draw(t, "return") {
		c.Sources = from(some(t, 1, label.UntrustedPublic, label.TrustedPublic, label.Internal, label.UserSource, label.System)...)
		c.Returns = sensitive(someClasses(t)...)
	}
	return c
}

func aLabel(t *rapid.T) label.Label {
	return label.Label{
		Untrusted: rapid.Bool().Draw(t, "untrusted"), Malicious: rapid.Bool().Draw(t, "malicious"), Attribution: someURIs(t),
		Sources:     label.SetOf(some(t, 0, label.UntrustedPublic, label.Internal, label.System)...),
		Sensitivity: label.SetOf(someClasses(t)...),
	}.Normal()
}

// anything draws a JSON value with white space, escapes, and numbers that no float holds.
func anything(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space")
	switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case kind == 0 && depth > 0:
		return "{" + space + strings.Join(unknown(t, depth-1), space+",") + space + "}"
	case kind == 1 && depth > 0:
		return "[" + space + anything(t, depth-1) + "," + space + anything(t, depth-1) + "]"
	}
	return rapid.SampledFrom([]string{`1`, `-0`, `1e400`, `12345678901234567890.0`, `null`, `true`, `"\u0061\/"`, `"é😀"`, `"{\"a\":[\\"`, `{}`, `[]`, `""`}).Draw(t, "scalar")
}

// unknown draws members that no dialect knows.
func unknown(t *rapid.T, depth int) []string {
	names := some(t, 0, "x", "y", `\u007a`, "vendor/x", "openworldhint", "Annotations", `\"`, "", "vendorHint")
	var out []string
	for _, name := range names {
		out = append(out, fmt.Sprintf(`"%s" : %s`, name, anything(t, depth)))
	}
	return out
}

// inside draws an object with the known members, or some of them, among unknown ones.
func inside(t *rapid.T, known ...string) string {
	members := unknown(t, 2)
	for i := 0; i < len(known); i += 2 {
		if rapid.IntRange(0, 3).Draw(t, "there") > 0 {
			members = append(members, `"`+known[i]+`": `+known[i+1])
		}
	}
	members = rapid.Permutation(members).Draw(t, "order")
	return "{" + strings.Join(members, " ,") + " }"
}

// annotated draws an object of annotations, right or wrong.
func annotated(t *rapid.T) string {
	one := func(values ...string) string { return rapid.SampledFrom(values).Draw(t, "one") }
	class := func() string {
		return one(`"none"`, `"pii"`, `["user", "pii"]`, `{"regulated": {"scopes": ["GDPR"]}}`, `"?"`, `[]`)
	}
	return one(inside(t,
		"readOnlyHint", one(`true`, `false`, `"x"`), "openWorldHint", one(`true`, `false`, `1`), "maliciousActivityHint", one(`true`, `false`),
		"attribution", one(`["mcp://a/b"]`, `[ "z" , "urn:org:acme" ]`, `[]`, `"x"`, `[1]`),
		"inputMetadata", inside(t, "destination", one(`"public"`, `["user"]`, `1`), "sensitivity", class(), "outcomes", `"benign"`),
		"returnMetadata", one(inside(t, "source", one(`"system"`, `["internal","system"]`, `"?"`), "sensitivity", class()), `[]`),
		"source", one(`"untrustedPublic"`, `1`), "sensitivity", class(),
	), `{}`, inside(t), `[]`)
}

func TestContractsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := aContract(t)
		tool, err := annotation.WriteTool([]byte(inside(t, "name", `"t"`)), want)
		if err != nil {
			t.Fatal(err)
		}
		got, defects := annotation.ReadTool(tool)
		if diff := cmp.Diff(want, got); diff != "" || len(defects) > 0 {
			t.Fatalf("%s\n%s\n%v", tool, diff, defects)
		}
		again, err := annotation.WriteTool(tool, want)
		if err != nil || !bytes.Equal(again, tool) {
			t.Fatalf("written again: %s, %v, want %s", again, err, tool)
		}
		resolved, _ := annotation.ReadResolved([]byte(`{"tool":` + string(tool) + `}`))
		if !resolved.Equal(want) {
			t.Fatalf("resolved: %s", cmp.Diff(want, resolved))
		}
	})
}

// A contract replaces the statements of a tool, member by member.
func TestWrittenContractIsWhatIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tool := []byte(inside(t, "annotations", annotated(t)))
		want := aContract(t)
		written, err := annotation.WriteTool(tool, want)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := annotation.ReadTool(written)
		if !got.Attribution.Contains(want.Attribution) {
			t.Fatalf("%s: attribution is lost", written)
		}
		before, _ := annotation.ReadTool(tool)
		want.Attribution, got.Attribution, before.Attribution = label.Set[string]{}, label.Set[string]{}, label.Set[string]{}
		if diff := cmp.Diff(or(want, before), got); diff != "" {
			t.Fatalf("%s\n%s\n%s", tool, written, diff)
		}
	})
}

// or returns c with its unknown members taken from d.
func or(c, d contract.Contract) contract.Contract {
	hint := func(a *contract.Hint, b contract.Hint) {
		if *a == contract.Unknown {
			*a = b
		}
	}
	hint(&c.ReadOnly, d.ReadOnly)
	hint(&c.Destructive, d.Destructive)
	hint(&c.Idempotent, d.Idempotent)
	hint(&c.OpenWorld, d.OpenWorld)
	hint(&c.Malicious, d.Malicious)
	if _, known := c.Destinations.Known(); !known {
		c.Destinations, c.Accepts, c.Outcomes = d.Destinations, d.Accepts, d.Outcomes
	}
	if _, known := c.Sources.Known(); !known {
		c.Sources, c.Returns = d.Sources, d.Returns
	}
	return c
}

func TestWriteResultNeverLowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		result := []byte(inside(t, "content", `[]`, "_meta", inside(t, "annotations", annotated(t))))
		before, _ := annotation.ReadResult(result)
		l := aLabel(t)
		written, err := annotation.WriteResult(result, l)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := annotation.ReadResult(written)
		want := label.Join(before.Label, l)
		if want.Sources.Len() == 0 || !stated(after.Stated.Returns) {
			// Half of returnMetadata is not written. The server's own claims of it stay.
			want.Sources, want.Sensitivity, want.Private = before.Label.Sources, before.Label.Sensitivity, before.Label.Private
		}
		if !after.Label.Covers(want) {
			t.Fatalf("%s\nwith %+v\nis %s\nwhich claims %+v", result, l, written, after.Label)
		}
		again, err := annotation.WriteResult(written, l)
		if err != nil || !bytes.Equal(again, written) {
			t.Fatalf("written again: %s, %v, want %s", again, err, written)
		}
	})
}

func stated(v contract.Values[label.Class]) bool {
	_, known := v.Known()
	return known
}

func TestWriteRequestNeverLowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		params := []byte(inside(t, "name", `"t"`, "_meta", inside(t, "annotations", annotated(t))))
		before, _ := annotation.ReadRequest(params)
		l, withAttribution := aLabel(t), rapid.Bool().Draw(t, "attribution")
		written, err := annotation.WriteRequest(params, l, withAttribution)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := annotation.ReadRequest(written)
		want := label.Label{Untrusted: l.Untrusted}
		if withAttribution {
			want.Attribution = l.Attribution
		}
		if want = label.Join(want, before); !after.Equal(want) {
			t.Fatalf("%s\nwith %+v\nis %s", params, l, written)
		}
	})
}

// Unknown members at every depth keep their bytes and their order through every write.
func TestUnknownMembersSurvive(t *testing.T) {
	known := strings.Fields("annotations _meta readOnlyHint destructiveHint idempotentHint openWorldHint maliciousActivityHint " +
		"attribution inputMetadata returnMetadata destination sensitivity outcomes source " +
		"io.modelcontextprotocol/trust-annotations dev.weir/label dev.weir/contract")
	// The objects on the way, of which only the known members may change.
	paths := [][]string{{}, {"_meta"}}
	for _, top := range [][]string{{"annotations"}, {"_meta", "annotations"}} {
		paths = append(paths, top, slices.Concat(top, []string{"inputMetadata"}), slices.Concat(top, []string{"returnMetadata"}))
	}
	kept := func(doc []byte) (members []string) {
		for _, path := range paths {
			object, _ := rawjson.Get(doc, path...)
			for name, value := range rawjson.Members(object) {
				if !slices.Contains(known, name) {
					members = append(members, fmt.Sprintf("%q %q = %s", path, name, value))
				}
			}
		}
		return members
	}
	rapid.Check(t, func(t *rapid.T) {
		doc := []byte(inside(t, "annotations", annotated(t), "_meta", inside(t, "annotations", annotated(t))))
		if err := rawjson.Check(doc); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		original := bytes.Clone(doc)
		tool, err1 := annotation.WriteTool(doc, aContract(t))
		result, err2 := annotation.WriteResult(doc, aLabel(t))
		request, err3 := annotation.WriteRequest(doc, aLabel(t), true)
		if err1 != nil || err2 != nil || err3 != nil || !bytes.Equal(doc, original) {
			t.Fatal(err1, err2, err3)
		}
		for _, written := range [][]byte{tool, result, request} {
			if err := rawjson.Check(written); err != nil {
				t.Fatalf("%s: %v", written, err)
			}
			if diff := cmp.Diff(kept(doc), kept(written)); diff != "" {
				t.Fatalf("%s\n%s\n%s", doc, written, diff)
			}
		}
	})
}
