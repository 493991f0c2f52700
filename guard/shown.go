package guard

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// The fragments of the URIs that text outside of results is attributed to. No tool, prompt or resource has such a URI, since
// names are escaped in theirs (see [Call.URI]).
const (
	definitions = "/#definitions"
	messages    = "/#messages"
)

// Definitions is the label of definitions that nobody has reviewed: names, descriptions, schemas, instructions of a server. They reach
// the model like a result, so they raise the agent session like one that anyone could have written.
func Definitions(server string) label.Label { return anyones(server, definitions) }

// Messages is the label of text that a server sends outside of results and definitions, such as log and progress messages. A
// trusted server is believed to write it itself, as long as it works on no call: see [Guard.Told].
func Messages(server string, trust contract.Trust) label.Label {
	if trust == contract.Trusted {
		return label.Label{}
	}
	return anyones(server, messages)
}

// Said is the label of a question that a server asks a person or a model.
func Said(trust contract.Trust) label.Label { return label.Label{Untrusted: trust != contract.Trusted} }

func anyones(server, fragment string) label.Label {
	return label.Label{Untrusted: true, Attribution: label.SetOf("mcp://" + url.PathEscape(server) + fragment)}
}

// Told raises the call's agent session by the label of text that its server sends while it works on the call: the text may tell
// what the answer would, so it counts as that does, whoever the server is. The agent may see the text if the error is nil.
func (g *Guard) Told(ctx context.Context, c *Call, l label.Label) error {
	if answer := g.located(c).forArguments().Effective.Label().Normal(); !answer.IsZero() {
		answer.Attribution = label.SetOf(c.URI())
		l = label.Join(l, answer)
	}
	state, err := g.open(ctx, c)
	if err == nil {
		_, err = g.raise(ctx, c, state.Label, l)
	}
	told := *c
	told.Context = l
	g.origins.shown(&told)
	return err
}

// shown notes where the context of a call came from.
func (o *origins) shown(c *Call) {
	for uri := range c.Context.Attribution.All() {
		o.add(c.Session, Origin{URI: uri, Label: c.Context.Taint()})
	}
}

// unreviewed says that nobody has reviewed definitions of servers, if nothing else makes the agent session untrusted and the
// request would go on otherwise: one review then ends such requests.
func (g *Guard) unreviewed(by *rules, m matter, d ruling) string {
	seen := m.facts.Session.Label
	if d.Effect == policy.Allow || m.facts.Response != nil || !seen.Untrusted {
		return ""
	}
	servers := onlyDefinitions(seen, g.origins.of(m.call.Session))
	if len(servers) == 0 {
		return ""
	}
	reviewed := *m.facts
	reviewed.Session.Label.Untrusted = false
	if by.decide(&reviewed, m.call.read.forms).Effect != policy.Allow {
		return ""
	}
	return g.opts.hint(servers)
}

// onlyDefinitions returns the servers whose definitions made a session untrusted; none if anything else did, or may have done.
func onlyDefinitions(seen label.Label, origins []Origin) (servers []string) {
	if seen.Sources.Has(label.UntrustedPublic) {
		return nil
	}
	known := map[string]bool{}
	for _, o := range origins {
		known[o.URI] = true
		server, defines := strings.CutSuffix(strings.TrimPrefix(o.URI, "mcp://"), definitions)
		switch {
		case defines:
			servers = append(servers, server)
		case o.Label.Untrusted:
			return nil
		}
	}
	for uri := range seen.Attribution.All() {
		if !known[uri] {
			return nil // of before, or by the word of the host
		}
	}
	slices.Sort(servers)
	return servers
}

// hint says what ends requests that are not allowed because nobody has reviewed definitions of these servers.
func (o *Options) hint(servers []string) string {
	list := strings.Join(servers[:min(len(servers), 3)], ", ")
	if len(servers) > 3 {
		list += " and others"
	}
	hint := "nobody has reviewed the definitions of " + list + ", and nothing else makes this conversation untrusted"
	if o.Review == nil {
		return hint
	}
	return hint + ": to end such requests in new conversations, run " + o.Review(servers[0])
}
