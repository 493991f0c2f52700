package policy

import (
	"slices"
	"testing"
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
