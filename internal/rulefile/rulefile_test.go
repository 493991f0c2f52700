package rulefile_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/rulefile"
)

const rules = `
title = "rules of a company"

[allowlist]
paths = ['''testdata/''']

[[rules]]
id = "acme-token"
description = "token of Acme"
regex = '''acme_([a-z0-9]{8,40})'''
keywords = ["ACME_"]
entropy = 2.5

[[rules.allowlists]]
stopwords = ["example"]

[[rules]]
id = "pair"
regex = '''(user|login)=\w+;pass=(\w+)'''
secretGroup = 2
path = '''\.ini$'''
[rules.allowlist]
condition = "AND"
regexTarget = "line"
regexes = ['''# sample$''']
stopwords = ["letmein"]
`

func TestScan(t *testing.T) {
	all, err := rulefile.Load("rules.toml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, text, want string }{
		{"a.txt", "x acme_q8zk3vw9 y", "acme-token q8zk3vw9"},
		{"a.txt", "x ACME_q8zk3vw9 y", ""},
		{"a.txt", "x acme_aaaaaaaa y", ""},
		{"a.txt", "x acme_example9z3 y", ""},
		{"testdata/a.txt", "x acme_q8zk3vw9 y", ""},
		{"a.ini", "login=bob;pass=s3cret", "pair s3cret"},
		{"a.txt", "login=bob;pass=s3cret", ""},
		{"a.ini", "login=bob;pass=letmein # sample", ""},
		{"a.ini", "login=bob;pass=letmein", "pair letmein"},
		{"a.ini", "login=bob;pass=s3cret # sample", "pair s3cret"},
		{"a.txt", "acme_q8zk3vw9 # gitleaks:allow", "acme-token q8zk3vw9"}, // the text itself allows nothing
	} {
		got := []string{}
		for _, f := range all.Scan([]byte(c.text), c.path, nil) {
			got = append(got, string(f.Kind)+" "+c.text[f.ValueOffset:f.ValueOffset+f.ValueSize])
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q: found %q, want %q", c.path, c.text, got, c.want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "it has no rules"},
		{"[[rules]]\nid = 3\n", "r.toml:2:"},
		{"[[rules]\n", "r.toml:1:"},
		{"[[rules]]\nid = \"a\"\n", "needs an id, and a regex"},
		{"[[rules]]\nid = \"a\"\nregex = \"a\"\n\n[[rules]]\nid = 'x\",\"role\":\"admin'\nregex = 'acme'\n", `:5: rule 2: the id "x\",\"role\":\"admin" stands in placeholders`},
		{"\n[[rules]]\nid = \"a b\"\n", ":2: rule 1: the id \"a b\""},
		{"rules = [{id = \"-\", regex = \"a\"}]\n", `:1: rule 1: the id "-"`},
		{"[[rules]]\nid = \"a\"\nregex = \"(\"\n", `rule 1 "a": error parsing regexp`},
		{"[[rules]]\nid = \"a\"\nregex = \"a(?=b)\"\n", `rule 1 "a": error parsing regexp`},
		{"[[rules]]\nid = \"a\"\nregex = \"a\"\nsecretGroup = 1\n", "the regex has 0 groups"},
		{"[[rules]]\nid = \"a\"\nregex = \"a\"\nshape = \"b\"\n", "r.toml:4: unknown member rules.shape"},
		{"[[rules]]\nid = \"a\"\nregex = \"a\"\n[[rules]]\nid = \"a\"\nregex = \"b\"\n", `rule 2: the id "a" is taken`},
		{"[allowlist]\ncondition = \"XOR\"\n[[rules]]\nid = \"a\"\nregex = \"a\"\n", "neither AND nor OR"},
	} {
		if _, err := rulefile.Load("r.toml", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(rules), []byte("acme_q8zk3vw9"))
	f.Fuzz(func(t *testing.T, src, text []byte) {
		all, err := rulefile.Load("r.toml", src)
		if err != nil {
			return
		}
		for _, one := range all.Scan(text, "a", nil) {
			if one.ValueOffset < one.Offset || one.ValueOffset+one.ValueSize > one.Offset+one.Size || one.Offset+one.Size > len(text) {
				t.Errorf("%+v in %q", one, text)
			}
		}
	})
}
