package label_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/label"
)

func classes(c ...label.Class) label.Set[label.Class]   { return label.SetOf(c...) }
func sources(s ...label.Source) label.Set[label.Source] { return label.SetOf(s...) }

func TestNormalImplies(t *testing.T) {
	tests := []struct {
		name               string
		in                 label.Label
		untrusted, private bool
	}{
		{"nothing", label.Label{}, false, false},
		{"untrusted public", label.Label{Sources: sources(label.UntrustedPublic)}, true, false},
		{"trusted public", label.Label{Sources: sources(label.TrustedPublic)}, false, false},
		{"system", label.Label{Sources: sources(label.System)}, false, false},
		{"internal", label.Label{Sources: sources(label.Internal)}, false, true},
		{"user as a source", label.Label{Sources: sources(label.UserSource)}, false, true},
		{"one of several sources", label.Label{Sources: sources(label.TrustedPublic, label.Internal, label.UntrustedPublic)}, true, true},
		{"user as a class", label.Label{Sensitivity: classes(label.User)}, false, false},
		{"another class", label.Label{Sensitivity: classes(label.Financial)}, false, true},
		{"user and another", label.Label{Sensitivity: classes(label.User, label.PII)}, false, true},
		{"class that no constant names", label.Label{Sensitivity: classes("trade secret")}, false, true},
		{"some readers", label.Label{Readers: label.OnlyReaders("alice")}, false, true},
		{"no readers", label.Label{Readers: label.OnlyReaders()}, false, true},
		{"malicious is neither", label.Label{Malicious: true}, false, false},
		{"flags stay", label.Label{Untrusted: true, Private: true}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.in
			want.Untrusted, want.Private = tt.untrusted, tt.private
			if diff := cmp.Diff(want, tt.in.Normal()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScope(t *testing.T) {
	tests := []struct {
		class label.Class
		scope string
		ok    bool
	}{
		{label.RegulatedBy("GDPR"), "GDPR", true},
		{label.RegulatedBy("a:b"), "a:b", true},
		{label.RegulatedBy(""), "", false},
		{label.Regulated, "", false},
		{label.PII, "", false},
	}
	for _, tt := range tests {
		if scope, ok := tt.class.Scope(); scope != tt.scope || ok != tt.ok {
			t.Errorf("%q: got %q, %v", tt.class, scope, ok)
		}
	}
}

func TestReaders(t *testing.T) {
	everyone, nobody := label.Readers{}, label.OnlyReaders()
	ab, bc := label.OnlyReaders("b", "a"), label.OnlyReaders("b", "c")
	tests := []struct {
		name       string
		a, b, join label.Readers
		allows     string // of a, b, c, those that the join allows
	}{
		{"everyone", everyone, everyone, everyone, "abc"},
		{"everyone and some", everyone, ab, ab, "ab"},
		{"everyone and nobody", everyone, nobody, nobody, ""},
		{"overlap", ab, bc, label.OnlyReaders("b"), "b"},
		{"no overlap", ab, label.OnlyReaders("c"), nobody, ""},
	}
	for _, tt := range tests {
		for _, join := range []label.Readers{tt.a.Join(tt.b), tt.b.Join(tt.a)} {
			if diff := cmp.Diff(label.Label{Readers: tt.join}, label.Label{Readers: join}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
			allows := ""
			for _, who := range []string{"a", "b", "c"} {
				if join.Allows(who) {
					allows += who
				}
			}
			if allows != tt.allows {
				t.Errorf("%s: allows %q, want %q", tt.name, allows, tt.allows)
			}
		}
	}
}

func TestJSON(t *testing.T) {
	tests := []struct {
		name, text string
		label      label.Label
	}{
		{"nothing", `{}`, label.Label{}},
		{"flags", `{"untrusted":true,"private":true,"malicious":true}`, label.Label{Untrusted: true, Private: true, Malicious: true}},
		{"sets are sorted", `{"findings":["a","b"],"sensitivity":["pii","user"],"sources":["internal","user"],"attribution":["mcp://a","mcp://b"]}`,
			label.Label{
				Findings:    label.SetOf("b", "a", "b"),
				Sensitivity: classes(label.User, label.PII),
				Sources:     sources(label.UserSource, label.Internal),
				Attribution: label.SetOf("mcp://b", "mcp://a"),
			}},
		{"readers", `{"readers":["alice","bob"]}`, label.Label{Readers: label.OnlyReaders("bob", "alice")}},
		{"nobody reads", `{"readers":[]}`, label.Label{Readers: label.OnlyReaders()}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := json.Marshal(tt.label)
			if err != nil || string(text) != tt.text {
				t.Errorf("encoded as %s, %v", text, err)
			}
			var back label.Label
			if err := json.Unmarshal([]byte(tt.text), &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.label, back); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJSONDecodesAbsence(t *testing.T) {
	l := label.Label{Readers: label.OnlyReaders("a"), Findings: label.SetOf("x")}
	if err := json.Unmarshal([]byte(`{"readers":null,"findings":null}`), &l); err != nil || !l.IsZero() {
		t.Errorf("got %+v, %v", l, err)
	}
	for _, text := range []string{`{"readers":"alice"}`, `{"readers":{}}`, `{"sources":[1]}`, `{"untrusted":"yes"}`} {
		if err := json.Unmarshal([]byte(text), new(label.Label)); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := draw(t, "l")
		l.Attribution = l.Attribution.Union(label.SetOf(rapid.SliceOf(rapid.String()).Draw(t, "any text")...))
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var back label.Label
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("decoding %s: %v", text, err)
		}
		same(t, "round trip", l, back)
	})
}

// Any text that decodes is a label that encodes to the same text each time and obeys the laws.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"untrusted":true,"readers":["b","a","a"],"attribution":["mcp://x"],"sensitivity":["regulated:GDPR"]}`))
	f.Add([]byte(`{"readers":[],"sources":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var l, back label.Label
		if json.Unmarshal(data, &l) != nil {
			return
		}
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("decoding %s: %v", text, err)
		}
		if diff := cmp.Diff(l, back); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if !label.Join(l, back).Equal(l) || !l.Normal().Covers(l) {
			t.Fatalf("%s breaks a law", text)
		}
	})
}

// A number that is told of data is as private as the data, and its label holds no text of others.
func TestTypedHoldsNoText(t *testing.T) {
	l := label.Label{
		Untrusted: true, Malicious: true, Findings: label.SetOf("do it"), Readers: label.OnlyReaders("do it"), Attribution: label.SetOf("do it"),
		Sensitivity: label.SetOf(label.PII, label.RegulatedBy("do it"), "do it"), Sources: label.SetOf(label.UntrustedPublic, label.Internal, "do it"),
	}.Normal()
	want := label.Label{
		Private: true, Malicious: true, Readers: label.OnlyReaders(),
		Sensitivity: label.SetOf(label.PII, label.Regulated, label.Unspecified), Sources: label.SetOf(label.Internal),
	}
	if got := l.Typed(); !got.Equal(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
