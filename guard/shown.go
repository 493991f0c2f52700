package guard

import (
	"net/url"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// The fragments of the URIs that text outside of results is attributed to. No tool, prompt or resource has such a URI,
// since names are escaped in theirs (see [Call.URI]).
const (
	definitions = "/#definitions"
	messages    = "/#messages"
)

// Definitions is the label of definitions that nobody has reviewed: names, descriptions, schemas, instructions of a
// server. They reach the model like a result, so they raise the agent session like one that anyone could have written.
func Definitions(server string) label.Label { return anyones(server, definitions) }

// Messages is the label of text that a server sends outside of results and definitions, such as log and progress
// messages. A trusted server is believed to write it itself, as long as it works on no call: see [Guard.Told].
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

// onlyDefinitions returns the servers whose definitions made a session untrusted; none if anything else did, or may
// have done.
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

// reviewHint names the remedy for requests that are not allowed because nobody has reviewed definitions of these
// servers.
func reviewHint(servers []string, review func(server string) string) string {
	list := strings.Join(servers[:min(len(servers), 3)], ", ")
	if len(servers) > 3 {
		list += " and others"
	}
	hint := "nobody has reviewed the definitions of " + list + ", and nothing else makes this conversation untrusted"
	if review == nil {
		return hint
	}
	return hint + ": to end such requests in new conversations, run " + review(servers[0])
}
