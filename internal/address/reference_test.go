package address_test

import (
	"testing"

	"github.com/weir-mcp/weir/internal/address"
)

func TestIsReference(t *testing.T) {
	for url, want := range map[string]bool{
		"https://docs.python.org/3/library/json.html":      true,
		"https://pypi.org/project/requests/":               true,
		"https://pkg.go.dev/encoding/json":                 true,
		"https://pkg.go.dev/gopkg.in/yaml.v3":              true,
		"https://pkg.go.dev/github.com/spf13/cobra@v1.8.0": true,
		"https://go.dev/doc/":                              true,
		"https://go.dev/doc":                               true,
		"https://DOCS.python.org/3/":                       true,

		"https://pypi.org/search/?q=secret":                   false,
		"https://pypi.org/project/requests/?x=secret":         false,
		"https://docs.python.org/3/library/json.html#secret":  false,
		"https://docs.python.org/#secret":                     false,
		"https://docs.python.org#secret":                      false,
		"https://pypi.org/project/../search/":                 false,
		"https://pypi.org/project/a%2f..%2f":                  false,
		"https://pypi.org:8443/project/requests/":             false,
		"https://secret@pypi.org/project/requests/":           false,
		"http://pypi.org/project/requests/":                   false,
		"ftp://pypi.org/project/requests/":                    false,
		"https://pypi.org./project/requests/":                 false,
		"https://pypi.org.evil.example/project/requests/":     false,
		"https://evil.pypi.org/project/requests/":             false,
		"https://evilpypi.org/project/requests/":              false,
		"https://evil.readthedocs.io/en/latest/":              false,
		"https://evil.github.io/docs/":                        false,
		"https://github.com/evil/docs":                        false,
		"https://files.pythonhosted.org/packages/evil.tar.gz": false,
		"https://rubygems.org/gems/evil-0.0.1.gem":            false,
		"https://docs.python.org/3/archives/docs.ZIP":         false,
		"https://docs.rs/evil/latest/evil.tar.gz/":            false,
		"https://www.sqlite.org/forum/forumpost/1":            false,
		"https://crates.io/api/v1/crates/evil/1.0.0/download": false,
		"https://pkg.go.dev/evil.example/secret":              false,
		"https://pkg.go.dev/search?q=secret":                  false,
		"https://pkg.go.dev/fetch/github.com/evil/secret":     false,
		"https://pkg.go.dev/":                                 false,
		"https://learn.microsoft.com/en-us/dotnet/api/":       true,
		"https://learn.microsoft.com/en-us/answers/1":         false,
		"https://go.dev/play/":                                false,
		"https://docs.python.org/https://evil.example/":       false,
		"https://docs.python.org\\@evil.example/":             false,
		"https://docs.python.org/3/ evil":                     false,
		"https://docs.python.org/3/\n":                        false,
		"docs.python.org/3/":                                  false,
		"https://10.0.0.1/doc/":                               false,
		"":                                                    false,
	} {
		if got := address.IsReference(url); got != want {
			t.Errorf("IsReference(%q) = %v", url, got)
		}
	}
}
