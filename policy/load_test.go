package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/policy"
)

// TestMistakes loads files that are wrong. The wanted text is shown to people.
func TestMistakes(t *testing.T) {
	const head = "version: 1\nrules:\n"
	for _, c := range []struct{ name, src, want string }{
		{"empty", "", "p.yaml: the file is empty\n  hint: begin with version: 1 and a list of rules"},
		{"only a comment", "# later\n", "p.yaml: the file is empty\n  hint: begin with version: 1 and a list of rules"},
		{"not UTF-8", "version: \xff", "p.yaml: the file is not valid UTF-8\n  hint: save the file as UTF-8"},
		{"not YAML", "version: [", "p.yaml:1:10: sequence end token ']' not found\n  hint: a text that begins with a quote, ! or [, or that holds \": \" or \" #\", needs quotes; a condition is best put under if: >-"},
		{"a condition that begins with a quote", head + "- name: a\n  if: \"x\" in tool.declares\n", "p.yaml:4:11: value is not allowed in this context. map key-value is pre-defined\n  hint: a text that begins with a quote, ! or [, or that holds \": \" or \" #\", needs quotes; a condition is best put under if: >-"},
		{"a condition that begins with !", head + "- name: a\n  when: call\n  effect: ask\n  if: !call.plainRead\n", "p.yaml:6:7: if is a tagged value, not a text\n  hint: a text that begins with a quote, ! or [, or that holds \": \" or \" #\", needs quotes; a condition is best put under if: >-"},
		{"a list", "- a\n", "p.yaml:1:1: policy is a list, not a mapping\n  hint: write name: value, with the names version, default or rules"},
		{"two documents", head + "  []\n---\nversion: 1\n", "p.yaml:5:1: a second document\n  hint: keep one document in a file"},
		{"too deep", "version: " + strings.Repeat("[", 200), "p.yaml:1:110: nested too deeply"},
		{"too deep in dashes", strings.Repeat("- ", 200), "p.yaml:1:201: nested too deeply"},
		{"too large", strings.Repeat("#", 2<<20), "p.yaml: the file has 2097152 bytes, more than the 1048576 that one may\n  hint: part it into several files"},
		{"no rules", "version: 1\n", "p.yaml:1:1: the policy has no rules\n  hint: add rules: and a list of rules; [] for none"},
		{"rules of another kind", "version: 1\nrules: none\n", "p.yaml:2:8: rules is a text, not a list\n  hint: write a list, each element after a dash"},
		{"no version", "rules:\n- {name: a, when: call, if: true, effect: ask}\n", "p.yaml:1:1: the policy has no version\n  hint: add version: 1"},
		{"no version and no rule", "rules: []\n", "p.yaml:1:1: the policy has no version\n  hint: add version: 1"},
		{"another version", "version: 2\nrules: []\n", "p.yaml:1:10: unknown version\n  hint: write version: 1"},
		{"another default", "version: 1\ndefault: alow\nrules: []\n", "p.yaml:2:10: unknown effect \"alow\"\n  hint: did you mean allow?"},
		{"a misspelt field", "version: 1\nrulez: []\n", "p.yaml:1:1: the policy has no rules\n  hint: add rules: and a list of rules; [] for none\np.yaml:2:1: unknown field \"rulez\" in policy\n  hint: did you mean rules?"},
		{"a field twice", "version: 1\nversion: 1\nrules: []\n", "p.yaml:2:1: field \"version\" occurs twice; first in line 1"},
		{"an empty rule", head + "- {}\n", "p.yaml:3:3: the rule has no name\n  hint: add name: …\np.yaml:3:3: the rule has no when\n  hint: add when: …\np.yaml:3:3: the rule has no if\n  hint: add if: …\np.yaml:3:3: the rule has no effect\n  hint: add effect: …"},
		{"a rule of another kind", head + "- block\n", "p.yaml:3:3: rule is a text, not a mapping\n  hint: write name: value, with the names name, when, if, effect, message, once or conditions"},
		{"a misspelt rule field", head + "- {name: a, when: call, if: true, efect: ask, effect: ask}\n", "p.yaml:3:35: unknown field \"efect\" in rule\n  hint: did you mean effect?"},
		{"names", head + "- {name: a, when: call, if: true, effect: ask}\n- {name: a, when: call, if: true, effect: ask}\n- {name: '', when: call, if: true, effect: ask}\n- {name: 7, when: call, if: true, effect: ask}\n",
			"p.yaml:4:10: a second rule with the name \"a\"; the first is in line 3\n  hint: give each rule a name of its own\np.yaml:5:10: the name is empty, not printable or longer than 128 bytes\n  hint: use a short word, such as ask-before-publishing\np.yaml:6:10: name is a number, not a text\n  hint: put it in quotes if it is meant to be a text"},
		{"values", head + "- name: a\n  when: calls\n  if: true\n  effect: escalate\n  message: '{tol} {server}'\n",
			"p.yaml:4:9: unknown moment \"calls\"\n  hint: did you mean call?\np.yaml:6:11: unknown effect \"escalate\"\n  hint: use block, ask, hide, warn or allow\np.yaml:7:12: unknown placeholder {tol}\n  hint: use {tool} or {server}"},
		{"an alias", head + "- &a {name: a, when: call, if: true, effect: ask}\n", "p.yaml:3:3: rule is an anchor or alias, not a mapping\n  hint: write name: value, with the names name, when, if, effect, message, once or conditions"},
		{"once", head + "- {name: a, when: call, if: true, effect: ask, once: session}\n- {name: b, when: call, if: true, effect: block, once: destination}\n",
			"p.yaml:3:54: unknown value \"session\" of once\n  hint: write once: destination, or leave it out\np.yaml:4:56: only a rule with the effect ask can ask once\n  hint: remove once"},
		{"a tag", "version: 1\nrules: !x []\n", "p.yaml:2:8: rules is a tagged value, not a list\n  hint: write a list, each element after a dash"},
		{"a result on a call", one("call", "ask", "session.private && response.isError"), "p.yaml:3:42: the rule is for calls but reads a fact of the result\n  hint: write when: result"},
		{"if and conditions", head + "- {name: a, effect: block, if: true, conditions: {fact: session.private, equals: true}}\n", "p.yaml:3:38: the rule has both if and conditions\n  hint: keep one of them"},
	} {
		checkErrors(t, c.name, c.src, c.want)
	}
}

// TestExpressionMistakes loads one rule whose condition begins, after its quote, at line 3, column 43.
func TestExpressionMistakes(t *testing.T) {
	for _, c := range []struct{ condition, want string }{
		{`session.untrustd`, "p.yaml:3:43: unknown fact session.untrustd\n  hint: did you mean session.untrusted?"},
		{`true && tool.anotations.readOnlyHint`, "p.yaml:3:51: unknown fact tool.anotations.readOnlyHint\n  hint: did you mean tool.annotations.readOnlyHint?"},
		{`sesion.private || tool.nam == "x"`, "p.yaml:3:43: unknown fact sesion.private\n  hint: did you mean session.private?\np.yaml:3:61: unknown fact tool.nam\n  hint: did you mean tool.name?"},
		{`untrusted`, "p.yaml:3:43: unknown fact untrusted\n  hint: did you mean session.untrusted?"},
		{`colour == "red"`, "p.yaml:3:43: unknown fact colour\n  hint: facts begin with request., tool., response., session., server. or call."},
		{`server.colour == "red"`, "p.yaml:3:43: unknown fact server.colour\n  hint: the facts of server are name, trust"},
		{`session`, "p.yaml:3:43: unknown fact session\n  hint: it is a group of facts: add one of private, sensitivity, sources, attribution, readers, id, parent, untrusted, malicious, credentials, calls, sent, recent, burst, reached, looked, userWords, sinceUser, trifecta"},
		{`has(tool.declared.readOnly)`, "p.yaml:3:47: unknown fact tool.declared.readOnly\n  hint: did you mean tool.declared.readOnlyHint?"},
		{`call["name"] == "x"`, "p.yaml:3:43: unknown fact call\n  hint: it is a group of facts: add one of method, name, byAgent, plainRead, hasArguments, destinations, reads, writes, arguments, egress, crosses, verbatim, roles, from, small.from, destination.from, destination.values, destination.hosts, destination.own, destination.local, destination.self, destination.readable, destination.first, destination.strange, content.from, content.links, content.orders, content.identifies, links.made, leak.bits, leak.total, named, findings, findings.likely, findings.kinds, findings.paths, findings.count, findings.incomplete"},
		{`"publik" in tool.declared.inputMetadata.destination`, "p.yaml:3:43: tool.declared.inputMetadata.destination is never \"publik\"\n  hint: did you mean public?"},
		{`server.trust != "secret"`, "p.yaml:3:59: server.trust is never \"secret\"\n  hint: use untrusted, known or trusted"},
		{`"none" in session.sensitivity`, "p.yaml:3:43: session.sensitivity is never \"none\"\n  hint: none is the empty set: write size(session.sensitivity) == 0"},
		{`"regulated:" in session.sensitivity`, "p.yaml:3:43: session.sensitivity is never \"regulated:\"\n  hint: did you mean regulated?"},
		{`tool.name`, "p.yaml:3:42: the expression is of type string, not bool\n  hint: compare it with something, for example == true"},
		{`call.arguments.force`, "p.yaml:3:42: the expression is of type dyn, not bool\n  hint: compare it with something, for example == true"},
		{`tool.name == 1`, "p.yaml:3:53: found no matching overload for '_==_' applied to '(string, int)'"},
		{`session.sources == "user"`, "p.yaml:3:59: found no matching overload for '_==_' applied to '(list(string), string)'\n  hint: whether a set holds a value is written \"value\" in set"},
		{`tool.name.size`, "p.yaml:3:52: type 'string' does not support field selection"},
		{`session.private & session.untrusted`, "p.yaml:3:59: syntax error: token recognition error at: '& '\n  hint: and is written &&, or is written ||\np.yaml:3:61: syntax error: mismatched input 'session' expecting <EOF>"},
		{`session.private &&`, "p.yaml:3:61: syntax error: mismatched input '<EOF>'\n  hint: the expression ends too early; in YAML, a # after a space begins a comment"},
		{`contains(tool.name, "x")`, "p.yaml:3:51: found no matching overload for 'contains' applied to '(string, string)'"},
		{`tool.name.has_prefix("x")`, "p.yaml:3:63: undeclared reference to 'has_prefix'\n  hint: the functions are those of CEL's standard library and aws.noSecrets, aws.readOnly, email.domain, host.internal, host.within, path.ext, path.noSecrets, path.plain, path.under, shell.command, shell.noSecrets, shell.readOnly, sql.noSecrets, sql.readOnly, url.host, url.path, url.reference, url.scheme"},
		{`path.undr(tool.name, "/tmp")`, "p.yaml:3:43: unknown function path.undr\n  hint: did you mean path.under?"},
		{`path.under(tool.name)`, "p.yaml:3:53: found no matching overload for 'path.under' applied to '(string)'"},
		{`sql.readOnly(tool.name)`, "p.yaml:3:43: sql.readOnly takes a text and a dialect\n  hint: write sql.readOnly(text, \"postgresql\"), with one of postgresql, mysql or sqlite; leave the condition out for anything else"},
		{`sql.readOnly(tool.name, "oracle")`, "p.yaml:3:67: sql.readOnly knows no dialect \"oracle\"\n  hint: use postgresql, mysql or sqlite; a statement in any other dialect may do anything, so leave the condition out"},
		{`sql.readOnly(tool.name, server.name)`, "p.yaml:3:73: the dialect of sql.readOnly is not known at load\n  hint: write one of postgresql, mysql or sqlite as a literal"},
		{`session.sources.exists(url, url == "user")`, "p.yaml:3:65: the loop variable url hides the functions url.*\n  hint: choose another name"},
		{`tool.name.matches("(")`, "p.yaml:3:61: invalid matches argument\n  hint: the pattern is a regular expression in the syntax of RE2"},
		{`tool.name.matches(server.name)`, "p.yaml:3:60: the pattern of matches is not known at load\n  hint: write the pattern as a literal"},
		{`session.sources.exists(tool, tool == "user")`, "p.yaml:3:65: the loop variable tool hides the facts tool.*\n  hint: choose another name"},
		{`google.protobuf.BoolValue{value: true}`, "p.yaml:3:68: messages are not part of the rule language\n  hint: compare single values"},
		{`session.attribution.exists(a, request.annotations.attribution.exists(b, a.contains(b)))`, "p.yaml:3:42: the rule may cost 703804235778, more than the 1000000 that one rule may\n  hint: use one loop where there are two, and startsWith, endsWith or contains where there is matches"},
	} {
		checkErrors(t, c.condition, one("call", "ask", c.condition), c.want)
	}
}

// TestPositions puts the same mistake into every style of scalar that YAML has.
func TestPositions(t *testing.T) {
	for _, c := range []struct{ name, scalar, want string }{
		{"plain", "session.private && session.oops", "6:28"},
		{"plain over lines", "session.private &&\n      session.oops", "7:7"},
		{"single quotes", `'tool.name == "it''s" && session.oops'`, "6:34"},
		{"double quotes", `"tool.name == \"x\" && session.oops"`, "6:32"},
		{"literal", "|\n      session.private &&\n\n        session.oops", "9:9"},
		{"folded", ">-\n      session.private &&\n      (true &&\n      session.oops)", "9:7"},
		{"after other letters", "tool.name == 'née' && session.oops", "6:31"},
		{"indented by hand", "|2\n        session.oops", "7:9"},
	} {
		src := "version: 1\nrules:\n  - name: a\n    when: call\n    effect: ask\n    if: " + c.scalar + "\n"
		_, err := policy.Load("p.yaml", []byte(src))
		if want := "p.yaml:" + c.want + ": unknown fact session.oops"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", c.name, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	_, err := policy.Load("p.yaml", []byte("version: 2\nrules: []\n"))
	var all policy.Errors
	if !errors.As(err, &all) {
		t.Fatalf("not an Errors: %v", err)
	}
	want := policy.Errors{{File: "p.yaml", Line: 1, Col: 10, Msg: "unknown version", Hint: "write version: 1"}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

func TestTooManyRules(t *testing.T) {
	checkErrors(t, "rules", string(manyRules(1001)), "p.yaml:2:1: 1001 rules, more than the 1000 that a policy may have")
}

func checkErrors(t *testing.T, name, src, want string) {
	t.Helper()
	p, err := policy.Load("p.yaml", []byte(src))
	if err == nil || p != nil {
		t.Errorf("%s: loads", name)
		return
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
