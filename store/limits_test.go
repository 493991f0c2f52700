package store_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

func TestLimits(t *testing.T) {
	uris := func(names ...string) label.Label { return label.Label{Attribution: label.SetOf(names...)} }
	classes := func(c ...label.Class) label.Label { return label.Label{Sensitivity: label.SetOf(c...)} }
	lim := store.Limits{Attribution: 2, Findings: 1, Classes: 1}
	gdpr, hipaa := label.RegulatedBy("GDPR"), label.RegulatedBy("HIPAA")
	tests := []struct {
		name       string
		a, b, want label.Label
	}{
		{"below", uris("a"), uris("b"), uris("a", "b")},
		{"overlap", uris("a", "b"), uris("b", "a"), uris("a", "b")},
		{"beyond", uris("a", "b"), uris("0"), uris("a", "b", store.More)},
		{"as many as there is room for", uris("b"), uris("z", "c", "d"), uris("b", "c", store.More)},
		{"from nothing", uris(), uris("c", "b", "a"), uris("a", "b", store.More)},
		{"a marker takes no room", uris("a", store.More), uris("b"), uris("a", "b", store.More)},
		{"a marker alone", uris("a", "b"), uris(store.More), uris("a", "b", store.More)},
		{"beyond again", uris("a", "b", store.More), uris("c", store.More), uris("a", "b", store.More)},
		{"already over a smaller limit", uris("a", "b", "c"), uris("d"), uris("a", "b", "c", store.More)},
		{"findings", label.Label{Findings: label.SetOf("a")}, label.Label{Malicious: true, Findings: label.SetOf("b")},
			label.Label{Malicious: true, Findings: label.SetOf("a", store.More)}},
		{"scopes", classes(gdpr), classes(hipaa), classes(gdpr, label.Regulated)},
		{"other classes", classes(gdpr), classes("trade secret"), classes(gdpr, label.Unspecified)},
		{"both", classes(gdpr), classes(hipaa, "trade secret"), classes(gdpr, label.Regulated, label.Unspecified)},
		{"the six are not counted",
			classes(gdpr, label.User, label.PII),
			classes(label.Financial, label.Credentials, label.Regulated, label.Unspecified, hipaa),
			classes(gdpr, label.User, label.PII, label.Financial, label.Credentials, label.Regulated, label.Unspecified)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lim.Join(tt.a, tt.b)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultLimits(t *testing.T) {
	names := func(n int, format string) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf(format, i))
		}
		return out
	}
	var classes []label.Class
	for _, name := range names(3000, "%d") {
		classes = append(classes, label.RegulatedBy(name))
	}
	flood := label.Label{
		Attribution: label.SetOf(names(3000, "mcp://a/%d")...),
		Findings:    label.SetOf(names(3000, "f%d")...),
		Sensitivity: label.SetOf(classes...),
	}
	for _, lim := range []store.Limits{{}, {Attribution: -1, Findings: -1, Classes: -1}} {
		got := lim.Join(label.Label{}, flood)
		sizes := [...]int{got.Attribution.Len(), got.Findings.Len(), got.Sensitivity.Len()}
		if want := [...]int{1024 + 1, 256 + 1, 64 + 1}; sizes != want {
			t.Errorf("sizes are %v, want %v", sizes, want)
		}
	}
}

// draw makes a label with more names than the limits of the laws below allow.
func draw(t *rapid.T, name string) label.Label {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", store.More}), 0, 6)
	classes := []label.Class{label.PII, label.Credentials, label.Regulated, label.Unspecified, "x", label.RegulatedBy("1"), label.RegulatedBy("2")}
	return label.Label{
		Untrusted:   rapid.Bool().Draw(t, name+".untrusted"),
		Attribution: label.SetOf(names.Draw(t, name+".attribution")...),
		Findings:    label.SetOf(names.Draw(t, name+".findings")...),
		Sensitivity: label.SetOf(rapid.SliceOfN(rapid.SampledFrom(classes), 0, 5).Draw(t, name+".sensitivity")...),
	}
}

// plain is the label without the names that limits count, and their markers.
func plain(l label.Label) label.Label {
	l.Attribution, l.Findings = label.Set[string]{}, label.Set[string]{}
	l.Sensitivity = l.Sensitivity.Intersect(label.SetOf(label.PII, label.Credentials))
	return l
}

func TestLimitsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 4)
		lim := store.Limits{Attribution: size.Draw(t, "attribution"), Findings: size.Draw(t, "findings"), Classes: size.Draw(t, "classes")}
		a, b := draw(t, "a"), draw(t, "b")
		ab, exact := lim.Join(a, b), label.Join(a, b)
		if !ab.Covers(a) {
			t.Fatalf("%+v does not cover %+v", ab, a)
		}
		if diff := cmp.Diff(ab, lim.Join(ab, b)); diff != "" {
			t.Fatalf("joining again:\n%s", diff)
		}
		if diff := cmp.Diff(plain(exact), plain(ab)); diff != "" {
			t.Fatalf("not only names were left out:\n%s", diff)
		}
		for _, lost := range []struct {
			left, marked bool
			what         string
		}{
			{!ab.Attribution.Contains(b.Attribution), ab.Attribution.Has(store.More), "attribution"},
			{!ab.Findings.Contains(b.Findings), ab.Findings.Has(store.More), "findings"},
			{!ab.Sensitivity.Contains(b.Sensitivity), ab.Sensitivity.Has(label.Regulated) || ab.Sensitivity.Has(label.Unspecified), "sensitivity"},
		} {
			if lost.left && !lost.marked {
				t.Fatalf("%s of %+v was left out without a mark in %+v", lost.what, b, ab)
			}
		}
		if most := max(a.Attribution.Len(), lim.Attribution) + 1; ab.Attribution.Len() > most {
			t.Fatalf("%d URIs, at most %d are wanted", ab.Attribution.Len(), most)
		}
		if n := lim.Join(a.Normal(), b.Normal()); !n.Equal(n.Normal()) {
			t.Fatalf("the join of normal labels is not normal: %+v", n)
		}
	})
}

func TestLimitsDoNotAllocateForWhatIsCovered(t *testing.T) {
	lim := store.Limits{Attribution: 2, Findings: 2, Classes: 2}
	flood := func(names ...string) label.Label {
		l := label.Label{Attribution: label.SetOf(names...), Findings: label.SetOf(names...)}
		for _, name := range names {
			l.Sensitivity = l.Sensitivity.Union(label.SetOf(label.RegulatedBy(name)))
		}
		return l
	}
	full, next := lim.Join(label.Label{}, flood("a", "b", "c")), flood("a", "d", "e", "f")
	if n := testing.AllocsPerRun(100, func() { full = lim.Join(full, next) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
