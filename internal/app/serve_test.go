package app

import (
	"testing"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/sanitize"
)

// TestSanitizersAreNamedByTheirSettings holds that processes whose sanitizers give other outputs have other setups.
func TestSanitizersAreNamedByTheirSettings(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func(*config.Config){
		"nothing":  func(*config.Config) {},
		"canaries": func(c *config.Config) { c.Detect.Canaries = []string{"a-canary-of-ours"} },
		"endpoint": func(c *config.Config) { c.Quarantine.URL = "https://a.example" },
		"model":    func(c *config.Config) { c.Quarantine.Model = "small" },
		"command":  func(c *config.Config) { c.Quarantine.Command = []string{"ask"} },
	} {
		c := &config.Config{}
		c.Sanitizers = map[string]sanitize.Rule{"a": {By: sanitize.Redact}}
		change(c)
		stated := sanitizersOf(c).Stated()
		if other, twice := seen[stated]; twice {
			t.Errorf("%s and %s have one name", name, other)
		}
		seen[stated] = name
	}
}
