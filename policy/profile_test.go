package policy

import (
	"slices"
	"testing"

	"github.com/weir-mcp/weir/label"
)

// TestProfileWithoutConditions compares a profile as it is read at first with its compiled rules, of which Refuses and
// Hides know only the effects.
func TestProfileWithoutConditions(t *testing.T) {
	for _, name := range Profiles() {
		p, _ := Profile(name)
		src, _ := ProfileSource(name)
		whole, err := Load(name+".yaml", src)
		if err != nil {
			t.Fatal(err)
		}
		if p.digest != whole.digest || p.fallback != whole.fallback {
			t.Errorf("%s: digest %s, default %v; compiled %s, %v", name, p.digest, p.fallback, whole.digest, whole.fallback)
		}
		for phase, rules := range p.compiled().phases {
			var effects []Effect
			for _, r := range rules {
				effects = append(effects, r.Effect)
			}
			if !slices.Equal(p.effects[phase], effects) || !slices.Equal(whole.effects[phase], effects) {
				t.Errorf("%s, %v: effects %v, with conditions %v, of the rules %v", name, Phase(phase), p.effects[phase], whole.effects[phase], effects)
			}
		}
		if !slices.Equal(p.Rules(), whole.Rules()) {
			t.Errorf("%s: other rules than the file has", name)
		}
	}
}

// No rule of a profile reads more than the size of a set of which the record has the size alone, so that decisions of
// profiles are exact from every record.
func TestProfilesReadTheRecord(t *testing.T) {
	some := label.SetOf("x")
	f := &Facts{
		Arguments: []byte(`{"to":"x"}`), Resources: Resources{Known: true, Reads: some.Slice(), Writes: some.Slice()},
		Roles:    Roles{Known: true, Destinations: []Argument{{Text: "x"}}},
		Call:     CallFacts{Traced: true, Destinations: some, Hosts: some, Found: Findings{Paths: some}},
		Response: &label.Label{}, ResponseFound: Findings{Paths: some},
	}
	v, err := DecodeFacts(f.Encode())
	if err != nil {
		t.Fatal(err)
	}
	g, err := ParseFacts(OnResult, v)
	if err != nil || len(g.Hidden) < 8 {
		t.Fatalf("hidden %q, %v", g.Hidden, err)
	}
	for _, name := range Profiles() {
		p, _ := Profile(name)
		for _, rules := range p.compiled().phases {
			for _, r := range rules {
				if i := slices.IndexFunc(g.Hidden, r.condition.ReadsValue); i >= 0 {
					t.Errorf("%s: %s reads the elements of %s, which are not in the record", name, r.Name, g.Hidden[i])
				}
			}
		}
	}
}
