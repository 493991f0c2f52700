package config_test

import (
	"strings"
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
	if diff := cmp.Diff([]string{"example.com", "mail.example.org"}, c.Own.Domains); diff != "" || c.Policy != "strict" {
		t.Errorf("policy %q, domains %s", c.Policy, diff)
	}
	for _, bad := range []string{"com", "*.example.com", "a..b", "ex ample.com", "https://example.com", "-a.example", "10.0.0.1"} {
		_, err := config.Load("weir.yaml", []byte("version: 1\ndomains: ['"+bad+"']\n"+servers), config.Options{})
		if err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

// TestMe reads the user's own addresses.
func TestMe(t *testing.T) {
	const servers = "servers: {a: {command: x}}\n"
	c, err := config.Load("weir.yaml", []byte("version: 1\nme: [ann@example.com, ann@EXAMPLE.org]\n"+servers), config.Options{})
	if err != nil || len(c.Own.Me) != 2 {
		t.Errorf("%v, %v", c, err)
	}
	for _, bad := range []string{"example.com", "@example.com", "Ann <ann@example.com>", "ann@example.com, eve@example.com", "https://example.com", "ann", "+49 30 5551234", "DE02120300000000202051", "ann＠example.com", ""} {
		_, err := config.Load("weir.yaml", []byte("version: 1\nme: ['"+bad+"']\n"+servers), config.Options{})
		if err == nil {
			t.Errorf("%q passes", bad)
		}
	}
	shared := "version: 1\nme: [ann@example.com]\nlisten: 127.0.0.1:0\nhttp: {tokens: [{name: bob, token: 0123456789abcdef0123456789abcdef, roles: [agent]}]}\n" + servers
	if _, err := config.Load("weir.yaml", []byte(shared), config.Options{}); err == nil || !strings.Contains(err.Error(), "several principals") {
		t.Errorf("shared by principals: %v", err)
	}
}

// TestReaders holds that groups of readers and those of servers are taken over; the mistakes are in testdata/problems.
func TestReaders(t *testing.T) {
	c, err := config.Load("weir.yaml", []byte("version: 1\nreaders: {staff: ['@Example.com', 'crm:C 1:2', ann@example.org]}\n"+
		"servers: {crm: {command: crm, readers: [staff]}, mail: {command: mail}}"), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Own.Readers["staff"]; len(got) != 3 || got[1] != "crm:C 1:2" {
		t.Errorf("staff is %q", got)
	}
	for _, s := range c.Servers {
		if want := map[string]int{"crm": 1, "mail": 0}[s.Name]; len(s.Readers) != want {
			t.Errorf("%s has the readers %q", s.Name, s.Readers)
		}
	}
}
