package policy

import (
	"embed"
	"fmt"
	"slices"
)

// Names of profiles.
const (
	Balanced = "balanced" // decides when no other is chosen
	Headless = "headless" // has the rules of balanced and its own, which hide results
)

//go:embed profiles/*.yaml
var profiles embed.FS

// Profiles returns the names of the built-in policies, from the one that asks least to the one that allows least.
func Profiles() []string { return []string{"calm", Balanced, Headless, "strict", "read-only"} }

// ProfileSource returns the file of a built-in policy, and whether there is one of that name.
func ProfileSource(name string) ([]byte, bool) {
	if !slices.Contains(Profiles(), name) {
		return nil, false
	}
	if name == Headless {
		return slices.Concat(embedded(Balanced), embedded(Headless)), true
	}
	return embedded(name), true
}

// embedded returns the file of a profile.
func embedded(name string) []byte {
	src, err := profiles.ReadFile("profiles/" + name + ".yaml")
	if err != nil {
		panic(fmt.Sprintf("policy: %v", err)) // all of them are embedded
	}
	return src
}

// Profile returns a built-in policy, and whether there is one of that name. Each call compiles it anew.
func Profile(name string) (*Policy, bool) {
	src, ok := ProfileSource(name)
	if !ok {
		return nil, false
	}
	p, err := Load(name+".yaml", src)
	if err != nil {
		panic(fmt.Sprintf("policy: the profile %s does not load: %v", name, err)) // the tests load it
	}
	return p, true
}

// DefaultSource returns the file of the policy that decides when no other is chosen.
func DefaultSource() []byte {
	src, _ := ProfileSource(Balanced)
	return src
}

// Default returns the policy that decides when no other is chosen. Each call compiles it anew.
func Default() *Policy {
	p, _ := Profile(Balanced)
	return p
}
