// Package setup reads a configuration with everything that it names: the policy, the overlays and the servers with
// their logins. Two setups can be compared, so that a running process knows whether a change of the files loosens it.
//
//	s, err := setup.Load(env, "weir.yaml", "")
//
// All mistakes of a configuration and of its policy are reported at once. Secrets are in no error.
package setup

import (
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/rulefile"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
)

// PolicyName says which policy decides.
func PolicyName(c *config.Config) string {
	if c.Policy == "" {
		return "built-in"
	}
	if _, ok := policy.Profile(c.Policy); ok {
		return c.Policy
	}
	return home.Shorten(c.Policy)
}

// ListenName says where hosts are served.
func ListenName(c *config.Config) string {
	if c.Listen == "" {
		return "stdio"
	}
	return c.Listen
}

// A Setup is a configuration with the policy that it names.
type Setup struct {
	Path     string // of the configuration file
	Config   *config.Config
	Overlays *overlay.Set   // the operator's overlays; nil if there are none
	Rules    rulefile.Rules // the operator's rules of detection
	Files    []string       // that were read, or looked for

	policy *policy.Policy // nil: the built-in one
}

// Policy returns the policy that decides. The built-in one is compiled when it is first asked for.
func (s *Setup) Policy() *policy.Policy {
	if s.policy == nil {
		return policy.Default()
	}
	return s.policy
}

// UseRules adds the rules of detection in the file at path, and returns their ids.
func (s *Setup) UseRules(path string) (ids []string, err error) {
	s.Files = append(s.Files, path)
	src, err := home.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rules, err := rulefile.Load(path, src)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		ids = append(ids, r.ID)
	}
	s.Rules = append(s.Rules, rules...)
	return ids, nil
}

// UsePolicy reads the policy file at path, or takes the profile of that name.
func (s *Setup) UsePolicy(path string) (err error) {
	if _, profile := policy.Profile(path); !profile {
		s.Files = append(s.Files, path)
	}
	s.policy, err = LoadPolicy(path)
	return err
}
