package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/config"
)

// TestDomains reads the operator's own domains, and policies that are profiles.
func TestDomains(t *testing.T) {
	const servers = "servers: {a: {command: x}}\n"
	c, err := config.Load("/etc/weir.yaml", []byte("version: 1\npolicy: strict\ndomains: [Example.com, mail.example.org]\n"+servers), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"example.com", "mail.example.org"}, c.Domains); diff != "" || c.Policy != "strict" {
		t.Errorf("policy %q, domains %s", c.Policy, diff)
	}
	for _, bad := range []string{"com", "*.example.com", "a..b", "ex ample.com", "https://example.com", "-a.example", "10.0.0.1"} {
		_, err := config.Load("weir.yaml", []byte("version: 1\ndomains: ['"+bad+"']\n"+servers), config.Options{})
		if err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}
