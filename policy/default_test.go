package policy_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// Sessions, as labels. Those that hold sensitive data are private, as [label.Label.Normal] makes them.
var (
	clean       = label.Label{}
	untrusted   = label.Label{Untrusted: true}
	private     = label.Label{Private: true}
	both        = label.Label{Untrusted: true, Private: true}
	credentials = label.Label{Sensitivity: label.SetOf(label.Credentials)}.Normal()
	bareSecret  = label.Label{Sensitivity: label.SetOf(label.Credentials)} // not normal: the rules do not rely on it
	malicious   = label.Label{Malicious: true}
)

// Tools, by the declarations of their servers.
var (
	silent       = contract.Contract{}
	reader       = contract.Contract{ReadOnly: contract.Yes}
	openReader   = contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.Yes}
	inbox        = contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.No, Destinations: contract.Possible(contract.Ephemeral)}
	window       = contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.Yes, Destinations: contract.Possible(contract.Ephemeral)}
	publicReader = contract.Contract{ReadOnly: contract.Yes, Destinations: contract.Possible(contract.Public)}
	shutReader   = contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.No}
	drafts       = contract.Contract{Destructive: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.User)}
	openDrafts   = contract.Contract{Destructive: contract.No, OpenWorld: contract.Yes, Destinations: contract.Possible(contract.User)}
	eraser       = contract.Contract{OpenWorld: contract.No, Destinations: contract.Possible(contract.User), Outcomes: contract.Possible(contract.Irreversible)}
	poster       = contract.Contract{Destructive: contract.No, OpenWorld: contract.No, Destinations: contract.Possible(contract.Public)}
	wary         = contract.Contract{RequiresReview: contract.Yes}
	waryReader   = contract.Contract{RequiresReview: contract.Yes, ReadOnly: contract.Yes}
	carefree     = contract.Contract{RequiresReview: contract.No}
	mailer       = contract.Contract{Outcomes: contract.Possible(contract.Irreversible), Destinations: contract.Possible(contract.Internal, contract.Public)}
)

const (
	credAsk    = "ask-before-credentials-leave"
	crossAsk   = "ask-before-credentials-cross"
	foundAsk   = "ask-before-a-found-secret-leaves"
	actAsk     = "ask-before-acting-on-untrusted"
	leaveAsk   = "ask-before-private-data-leaves"
	requestAsk = "ask-before-private-data-leaves-in-a-request"
	placeAsk   = "ask-before-going-where-strangers-point"
	madeAsk    = "ask-before-a-link-tells"
	orderAsk   = "ask-before-keeping-orders-of-strangers"
	searchAsk  = "ask-before-searching-for-private-names"
	linksAsk   = "ask-before-passing-on-links"
	badAsk     = "ask-after-malicious"
	reviewAsk  = "ask-when-review-is-required"
	badResult  = "ask-before-a-malicious-result"
)

type defaultCase struct {
	name    string
	session label.Label
	tool    contract.Contract
	trust   contract.Trust
	args    string
	effect  policy.Effect
	rules   []string // all that match
}

func rules(names ...string) []string { return names }

const (
	known   = contract.Known
	unknown = contract.Untrusted
	trusted = contract.Trusted
	some    = `{"q":"x"}`
	none    = ``
)

// defaultCases are the calls that the built-in policy decides, one line a case.
var defaultCases = []defaultCase{
	{"a clean session writes", clean, silent, unknown, some, policy.Allow, nil},
	{"a clean session mails", clean, mailer, trusted, some, policy.Allow, nil},
	{"an untrusted session reads", untrusted, shutReader, known, some, policy.Allow, nil},
	{"an untrusted session reads by the word of a server nobody vouches for", untrusted, shutReader, unknown, some, policy.Ask, rules(actAsk, linksAsk)},
	{"an untrusted session reads without arguments by that word", untrusted, reader, unknown, none, policy.Ask, rules(actAsk, linksAsk)},
	{"an untrusted session reads who knows where", untrusted, reader, known, some, policy.Ask, rules(placeAsk)},
	{"an untrusted session reads who knows where in the open world", untrusted, openReader, trusted, some, policy.Ask, rules(placeAsk)},
	{"an untrusted session drafts", untrusted, drafts, known, some, policy.Allow, nil},
	{"an untrusted session drafts at a server nobody vouches for", untrusted, drafts, unknown, some, policy.Ask, rules(actAsk, linksAsk)},
	{"an untrusted session erases", untrusted, eraser, trusted, some, policy.Ask, rules(actAsk)},
	{"an untrusted session posts", untrusted, poster, trusted, some, policy.Ask, rules(actAsk, linksAsk)},
	{"an untrusted session mails", untrusted, mailer, trusted, some, policy.Ask, rules(actAsk, linksAsk)},
	{"an untrusted session uses a silent tool", untrusted, silent, trusted, some, policy.Ask, rules(actAsk, linksAsk)},
	{"a private session reads", private, shutReader, known, some, policy.Allow, nil},
	{"a private session reads by the word of a server nobody vouches for", private, shutReader, unknown, some, policy.Ask, rules(leaveAsk)},
	{"a private session reads without arguments by that word", private, reader, unknown, none, policy.Allow, nil},
	{"a private session reads from the open world", private, openReader, trusted, some, policy.Ask, rules(requestAsk)},
	{"a private session reads from the open world without arguments", private, openReader, trusted, none, policy.Allow, nil},
	{"a private session reads where nothing is kept", private, inbox, trusted, some, policy.Allow, nil},
	{"a private session drafts", private, drafts, trusted, some, policy.Allow, nil},
	{"a private session erases", private, eraser, trusted, some, policy.Allow, nil},
	{"a private session drafts in the open world", private, openDrafts, trusted, some, policy.Allow, nil},
	{"a private session drafts in the open world at a server nobody vouches for", private, openDrafts, unknown, some, policy.Ask, rules(leaveAsk)},
	{"a private session posts without arguments", private, poster, trusted, none, policy.Allow, nil},
	{"a private session posts", private, poster, trusted, some, policy.Ask, rules(leaveAsk)},
	{"a private session uses a silent tool", private, silent, unknown, some, policy.Ask, rules(leaveAsk)},
	{"both, and a request to the open world", both, openReader, trusted, some, policy.Ask, rules(requestAsk, tellAsk)},
	{"both, and a request by a reader that says no more", both, reader, known, some, policy.Ask, rules(requestAsk, tellAsk)},
	{"both, and a request that goes no further", both, inbox, trusted, some, policy.Allow, nil},
	{"both, and an open world is told what nobody keeps", both, window, trusted, some, policy.Ask, rules(requestAsk, tellAsk)},
	{"both, and a request without arguments", both, openReader, trusted, `{ }`, policy.Allow, nil},
	{"both, and a request with none", both, openReader, trusted, none, policy.Allow, nil},
	{"both, and a read from a closed world", both, shutReader, trusted, some, policy.Allow, nil},
	{"both, and a read from a world that an unknown server calls closed", both, shutReader, unknown, some, policy.Ask, rules(actAsk, linksAsk, leaveAsk, tellAsk)},
	{"both, and a draft", both, drafts, trusted, some, policy.Allow, nil},
	{"both, and mail", both, mailer, trusted, some, policy.Ask, rules(actAsk, linksAsk, leaveAsk, tellAsk)},
	{"credentials, and a read", credentials, shutReader, known, none, policy.Allow, nil},
	{"credentials, and a read elsewhere", credentials, shutReader, known, some, policy.Ask, rules(crossAsk)},
	{"credentials, and a read that says public", credentials, publicReader, trusted, some, policy.Ask, rules(credAsk, crossAsk, requestAsk)},
	{"credentials, and a read that says public, without arguments", credentials, publicReader, trusted, none, policy.Allow, nil},
	{"credentials, and a choice at a server nobody vouches for", credentials, shutReader, unknown, none, policy.Ask, rules(credAsk)},
	{"credentials, and a draft", credentials, drafts, trusted, some, policy.Ask, rules(crossAsk)},
	{"credentials, and a draft without arguments", credentials, drafts, trusted, none, policy.Allow, nil},
	{"credentials, and a post", credentials, poster, trusted, some, policy.Ask, rules(credAsk, crossAsk, leaveAsk)},
	{"credentials, and a post without arguments", credentials, poster, trusted, none, policy.Ask, rules(credAsk)},
	{"credentials, and mail", credentials, mailer, unknown, some, policy.Ask, rules(credAsk, crossAsk, leaveAsk)},
	{"credentials, and a silent tool", credentials, silent, trusted, some, policy.Ask, rules(credAsk, crossAsk, leaveAsk)},
	{"credentials, and a draft at a server nobody vouches for", credentials, drafts, unknown, some, policy.Ask, rules(credAsk, crossAsk, leaveAsk)},
	{"credentials that nobody called private, and a post", bareSecret, poster, trusted, some, policy.Ask, rules(credAsk, crossAsk)},
	{"credentials that nobody called private, and a silent tool", bareSecret, silent, trusted, some, policy.Ask, rules(credAsk, crossAsk)},
	{"after something malicious, a read", malicious, shutReader, known, some, policy.Allow, nil},
	{"after something malicious, a request", malicious, reader, known, some, policy.Ask, rules(badAsk)},
	{"after something malicious, a draft", malicious, drafts, trusted, some, policy.Ask, rules(badAsk)},
	{"a clean session calls a tool that wants review", clean, wary, trusted, some, policy.Ask, rules(reviewAsk)},
	{"a clean session calls a tool that wants review, at a server nobody vouches for", clean, wary, unknown, some, policy.Ask, rules(reviewAsk)},
	{"a clean session reads with a tool that wants review", clean, waryReader, known, none, policy.Ask, rules(reviewAsk)},
	{"a private session calls a tool that wants review", private, wary, trusted, some, policy.Ask, rules(leaveAsk, reviewAsk)},
	{"a clean session calls a tool that wants no review", clean, carefree, unknown, some, policy.Allow, nil},
	{"after something malicious, a silent tool", malicious, silent, unknown, some, policy.Ask, rules(badAsk)},
}

// answerCases are the answers to questions of servers that the built-in policy decides. Their contracts are the rest of a
// tool's where it is answered: see guard.Call.Inquiry.
var answerCases = []struct {
	name    string
	method  string
	session label.Label
	tool    contract.Contract
	effect  policy.Effect
	rules   []string
}{
	{"a clean session's model answers", sampling, clean, silent, policy.Allow, nil},
	{"an untrusted session's model answers", sampling, untrusted, mailer, policy.Allow, nil},
	{"an untrusted session's model answers among colleagues", sampling, untrusted, mover, policy.Allow, nil},
	{"a private session's model answers", sampling, private, silent, policy.Ask, rules(leaveAsk)},
	{"a private session's model answers a closed world", sampling, both, drafts, policy.Allow, nil},
	{"a model that has seen credentials answers", sampling, credentials, silent, policy.Ask, rules(credAsk, crossAsk, leaveAsk)},
	{"a model that has seen credentials answers a tool that says public", sampling, credentials, poster, policy.Ask, rules(credAsk, crossAsk, leaveAsk)},
	{"a model that has seen something malicious answers", sampling, malicious, silent, policy.Ask, rules(badAsk)},
	{"a person answers in an untrusted session", elicitation, untrusted, silent, policy.Allow, nil},
	{"a person answers in a private session", elicitation, both, mailer, policy.Allow, nil},
	{"a person answers in a session with credentials", elicitation, credentials, silent, policy.Allow, nil},
	{"a person answers a tool that says public", elicitation, credentials, poster, policy.Allow, nil},
	{"a person answers after something malicious", elicitation, malicious, silent, policy.Allow, nil},
	{"a person answers a tool that wants review", elicitation, clean, wary, policy.Allow, nil},
	{"a model answers a tool that wants review", sampling, clean, wary, policy.Ask, rules(reviewAsk)},
	{"a host tells its folders", roots, label.Join(both, malicious), mailer, policy.Allow, nil},
}

const (
	sampling    = "sampling/createMessage"
	elicitation = "elicitation/create"
	roots       = "roots/list"
)

// resultCases are the results that the built-in policy decides.
var resultCases = []struct {
	name   string
	result label.Label
	effect policy.Effect
	rules  []string
}{
	{"a clean result", clean, policy.Allow, nil},
	{"an untrusted private result", both, policy.Allow, nil},
	{"credentials in a result", credentials, policy.Allow, nil},
	{"a malicious result", malicious, policy.Ask, rules(badResult)},
}

// checkDefault returns the names of the cases that p decides otherwise.
func checkDefault(p *policy.Policy) (wrong []string) {
	check := func(name string, f *policy.Facts, effect policy.Effect, rules []string) {
		d := p.Decide(f)
		var matched []string
		for _, m := range d.Matched {
			matched = append(matched, m.Rule)
		}
		first := ""
		if len(rules) > 0 {
			first = rules[0]
		}
		got := fmt.Sprint(d.Effect, d.Rule, matched, d.Problems)
		if want := fmt.Sprint(effect, first, rules, []policy.Problem(nil)); got != want {
			wrong = append(wrong, fmt.Sprintf("%s: got %s, want %s", name, got, want))
		}
	}
	for _, c := range defaultCases {
		check(c.name, &policy.Facts{
			Method:    "tools/call",
			Tool:      policy.ToolFacts{Name: "t", Declared: c.tool, Annotations: contract.Effective(c.tool, c.trust)},
			Server:    policy.ServerFacts{Name: "s", Trust: c.trust},
			Session:   policy.SessionFacts{Label: c.session},
			Arguments: []byte(c.args),
		}, c.effect, c.rules)
	}
	for _, c := range answerCases {
		check(c.name, &policy.Facts{
			Method:    c.method,
			Tool:      policy.ToolFacts{Name: c.method, Declared: c.tool, Annotations: contract.Effective(c.tool, trusted)},
			Session:   policy.SessionFacts{Label: c.session},
			Arguments: []byte(some),
		}, c.effect, c.rules)
	}
	overlaid := contract.Contract{ReadOnly: contract.Yes, OpenWorld: contract.No}.Assume()
	check("both, and a read that the operator knows to be closed", &policy.Facts{
		Tool:    policy.ToolFacts{Declared: openReader, Annotations: overlaid},
		Session: policy.SessionFacts{Label: both}, Arguments: []byte(some),
	}, policy.Allow, nil)
	bare := &policy.Facts{
		Tool:    policy.ToolFacts{Declared: openReader, Annotations: openReader.Assume()},
		Session: policy.SessionFacts{Label: both}, Call: policy.CallFacts{Traced: true},
	}
	check("both, and a request without arguments that the operator describes", bare, policy.Allow, nil)
	for _, c := range tracedCases {
		check(c.name, c.facts(), c.effect, c.rules)
	}
	for _, c := range foundCases {
		check(c.name, c.facts(), c.effect, c.rules)
	}
	for _, c := range draftedCases {
		f := c.facts()
		f.Call.Stated = false
		check(c.name, f, c.effect, c.rules)
	}
	for _, c := range typedCases {
		f := c.facts()
		f.Method = "elicitation/create"
		check(c.name, f, c.effect, c.rules)
	}
	for _, c := range resultCases {
		check(c.name, &policy.Facts{Phase: policy.OnResult, Session: policy.SessionFacts{Label: both}, Response: &c.result},
			c.effect, c.rules)
	}
	return wrong
}

func TestDefault(t *testing.T) {
	for _, w := range checkDefault(policy.Default()) {
		t.Error(w)
	}
}

// TestDefaultMutants takes each rule away, and replaces each term of each condition by true and by false: every such change
// must be seen by a case, so that no part of the policy is there without a reason.
func TestDefaultMutants(t *testing.T) {
	term := regexp.MustCompile(`[a-z]+\.[\w.]+\.(all|exists)\(k, [^)]*\)|size\([\w.]+\) > 0|[a-z]+\.[\w.]+ [!=]= ("[\w/]+"|\["\w+"\])|` +
		`call\.leak\.total (?:>|<=) \d+|"\w+" in [\w.]+|has\([\w.]+\)|[a-z]+\.[\w.]+`)
	original := policy.Default().Rules()
	if wrong := checkDefault(load(t, render(original))); len(wrong) > 0 {
		t.Fatalf("rendering changes the policy: %v", wrong)
	}
	for i, r := range original {
		without := append(append([]policy.Rule(nil), original[:i]...), original[i+1:]...)
		if len(checkDefault(load(t, render(without)))) == 0 {
			t.Errorf("no case needs the rule %s", r.Name)
		}
		if r.Effect < policy.Allow {
			weaker := append([]policy.Rule(nil), original...)
			if weaker[i].Effect++; weaker[i].Effect == policy.Hide && r.When == policy.OnCall {
				weaker[i].Effect++
			}
			if len(checkDefault(load(t, render(weaker)))) == 0 {
				t.Errorf("no case needs %s to %s", r.Name, r.Effect)
			}
		}
		for _, at := range term.FindAllStringIndex(r.If, -1) {
			for _, constant := range []string{"true", "false"} {
				mutant := append([]policy.Rule(nil), original...)
				mutant[i].If = r.If[:at[0]] + constant + r.If[at[1]:]
				if len(checkDefault(load(t, render(mutant)))) == 0 {
					t.Errorf("no case sees %s replaced by %s in %s", r.If[at[0]:at[1]], constant, r.Name)
				}
			}
		}
	}
}

// render writes rules as a file.
func render(rules []policy.Rule) string {
	var b strings.Builder
	b.WriteString("version: 1\nrules:\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "- name: %s\n  when: %s\n  effect: %s\n  if: '%s'\n", r.Name, r.When, r.Effect, strings.ReplaceAll(r.If, "\n", " "))
	}
	return b.String()
}

func load(t testing.TB, src string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("test.yaml", []byte(src))
	if err != nil {
		t.Fatalf("loading\n%s\n%v", src, err)
	}
	return p
}
