package overlay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/overlay"
)

const head = "version: 1\noverlays:\n  - name: a\n    match: [{server: a}]\n"

// tool returns a file with one tool, whose members are given in flow style.
func tool(members string) string { return head + "    tools: {t: {" + members + "}}\n" }

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"empty", "", "f:0: the file is empty; begin with version: 1 and overlays:"},
		{"no version", "overlays: []\n", "f:1: the file has no version; add version: 1"},
		{"version", "version: 2\noverlays: []\n", "f:1: unknown version; write version: 1"},
		{"no overlays", "version: 1\n", "f:1: the file has no overlays; add overlays: and a list of them"},
		{"no match", "version: 1\noverlays: [{name: a}]\n",
			"f:2: the overlay does not say which servers it is for; add match: and below it - package: …, - command: …, - url: … or - server: …"},
		{"no name", "version: 1\noverlays: [{match: [{server: a}]}]\n", "f:2: the overlay has no name; add name: …"},
		{"a name twice", head + "  - name: a\n    match: [{server: b}]\n",
			`f:5: a second overlay with the name "a"; the first is in line 3; give each overlay a name of its own`},
		{"a misspelt field", head + "    tool: {}\n", `f:5: unknown field "tool" in overlay; did you mean tools?`},
		{"a bad date", head + "    date: yesterday\n", "f:5: the date is no day; write it as 2026-11-21"},
		{"both", head + "    checked: x\n    unchecked: y\n", "f:6: the overlay is both checked and unchecked; keep one of them"},
		{"match nothing", "version: 1\noverlays: [{name: a, match: [{}]}]\n",
			"f:2: an item of match without members fits nothing; add package, command, url or server"},
		{"match no item", "version: 1\noverlays: [{name: a, match: []}]\n",
			"f:2: match has no items; add - package: …, - command: …, - url: … or - server: …"},
		{"match a star", "version: 1\noverlays: [{name: a, match: [{package: 'x*'}]}]\n", "f:2: package is empty, or has a star; write the whole name"},
		{"match a host with stars", "version: 1\noverlays: [{name: a, match: [{url: 'https://a*.example/'}]}]\n",
			"f:2: url is no pattern of a URL; a star in the host is its first label only, as in https://*.example.com/*"},
		{"version alone", "version: 1\noverlays: [{name: a, match: [{server: a, version: '>=1'}]}]\n",
			"f:2: a version has no meaning without a package; add package: …"},
		{"registry alone", "version: 1\noverlays: [{name: a, match: [{server: a, registry: npm}]}]\n",
			"f:2: no registry of a package; write it with package: … as npm, pypi, go or image"},
		{"registry", "version: 1\noverlays: [{name: a, match: [{package: a, registry: evil}]}]\n",
			"f:2: no registry of a package; write it with package: … as npm, pypi, go or image"},
		{"version range", "version: 1\noverlays: [{name: a, match: [{package: a, version: '^1'}]}]\n",
			`f:2: bad version range: "^1" is no version of numbers and dots; write it as ">=1.2 <2"`},
		{"a tool twice", head + "    tools:\n      t: {contract: {readOnly: true}}\n      t: {contract: {readOnly: true}}\n",
			`f:7: "t" occurs twice in tools; first in line 6`},
		{"nothing of a tool", tool(""), "f:5: nothing is said of t; add contract: …"},
		{"a contract of nothing", tool("contract: {}"), "f:5: the contract says nothing; state what is true of the tool"},
		{"a misspelt member", tool("contract: {readonly: true}"), `f:5: unknown field "readonly" in contract; did you mean readOnly?`},
		{"a text for a hint", tool("contract: {readOnly: 'yes'}"), "f:5: readOnly is a text, not true or false; write true or false"},
		{"a misspelt value", tool("contract: {destinations: [publik]}"), `f:5: unknown value "publik" in destinations; did you mean public?`},
		{"a text for a list", tool("contract: {destinations: public}"), "f:5: destinations is a text, not a list; write a list, each element after a dash"},
		{"none", tool("contract: {returns: [none]}"), "f:5: none is the empty list; write [] for none"},
		{"no destination", tool("contract: {destinations: []}"), "f:5: destinations is empty, but a call has at least one; leave it out if it is not known"},
		{"contradiction", tool("contract: {readOnly: true, destructive: true}"),
			"f:5: a contract that is both readOnly and destructive; one of them is wrong"},
		{"no condition", tool("when: [{contract: {readOnly: true}}]"),
			"f:5: the refinement has no condition; add if: and a condition over call.arguments"},
		{"a condition", tool("when: [{if: 'call.argumets.a == 1', contract: {readOnly: true}}]"),
			"f:5: unknown fact call.argumets.a; did you mean call.arguments?"},
		{"a function", tool(`when: [{if: 'path.udner(call.arguments.a, "/")', contract: {readOnly: true}}]`),
			"f:5: unknown function path.udner; did you mean path.under?"},
		{"a bad path", tool("arguments: {content: ['a..b']}"), "f:5: bad path: a name is missing after the dot; write it as name, a.b or list[*].b"},
		{"a bad template", tool("resource: {reads: ['file://{path']}"),
			"f:5: bad template: a { without its }; write a URI with arguments in braces, as file://{path}"},
		{"a path without root", tool("results: [{path: a, label: {private: true}}]"),
			"f:5: bad path: a path into a result begins with $; write it as $.items[*].private"},
		{"a rule without label", tool("results: [{path: $.a}]"), "f:5: the rule has no label; add label: …"},
		{"a label of nothing", tool("results: [{path: $.a, label: {}}]"),
			"f:5: the label says nothing; add private, untrusted, malicious, sensitivity or sources"},
		{"a label that lowers", tool("results: [{path: $.a, label: {private: false}}]"),
			"f:5: a label only raises: private: false says nothing; leave it out"},
		{"equals an object", tool("results: [{path: $.a, equals: {b: 1}, label: {private: true}}]"),
			"f:5: equals is a mapping; write a text, a number, true, false or null\nf:5: the rule fits nothing; name at least one value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := overlay.Load("f", []byte(c.src))
			if err == nil {
				t.Fatal("it loads")
			}
			if diff := cmp.Diff(c.want, brief(err.(overlay.Errors))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// brief writes a line "file:line: message; hint" for each problem.
func brief(errs overlay.Errors) string {
	var lines []string
	for _, p := range errs {
		s := fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Msg)
		if p.Hint != "" {
			s += "; " + p.Hint
		}
		lines = append(lines, s)
	}
	return strings.Join(lines, "\n")
}
