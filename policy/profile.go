package policy

import (
	"embed"
	"fmt"
	"slices"
	"sync"
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

// builtin are the policies that come with Weir. Each is read when it is first asked for; its conditions, which take
// most of the time, are compiled when one of them first counts.
var builtin = func() map[string]func() *Policy {
	all := map[string]func() *Policy{}
	for _, name := range Profiles() {
		all[name] = sync.OnceValue(func() *Policy {
			src, _ := ProfileSource(name)
			p := mustLoad(name, func(file string) (*Policy, error) { return load(file, src, nil) })
			p.rules = sync.OnceValue(func() *compiled {
				return mustLoad(name, func(file string) (*Policy, error) { return Load(file, src) }).compiled()
			})
			return p
		})
	}
	return all
}()

// mustLoad loads a profile.
func mustLoad(name string, load func(file string) (*Policy, error)) *Policy {
	p, err := load(name + ".yaml")
	if err != nil {
		panic(fmt.Sprintf("policy: the profile %s does not load: %v", name, err)) // the tests load it
	}
	return p
}

// Profile returns a built-in policy, and whether there is one of that name.
func Profile(name string) (*Policy, bool) {
	compile, ok := builtin[name]
	if !ok {
		return nil, false
	}
	return compile(), true
}

// DefaultSource returns the file of the policy that decides when no other is chosen.
func DefaultSource() []byte {
	src, _ := ProfileSource(Balanced)
	return src
}

// Default returns the policy that decides when no other is chosen.
func Default() *Policy {
	p, _ := Profile(Balanced)
	return p
}
