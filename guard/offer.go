package guard

import (
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/speech"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
)

// Offers are what results of a session list.
type offers struct {
	pages  map[string]bool  // addresses that may be requested
	things map[thing]string // names of ids in directories of servers
	ids    map[thing]string // ids of names there; "" of a name that several have
}

// A thing is an id or a name in a directory of a server.
type thing struct{ server, text string }

// pagesOf says which addresses in the call's answer are offered as pages to read: all of them, where a search found them or no stranger
// wrote the answer; else those of the hosts that the call, a request, went to.
func (c *Call) pagesOf(l label.Label) (hosts []string, all bool) {
	if c.asked || c.Effective.ReadOnly != contract.Yes {
		return nil, false
	}
	if !l.Untrusted && !l.Malicious || !l.Malicious && c.Overlay.FindsPages() {
		return nil, true
	}
	roles, _ := c.parts()
	for _, d := range roles.Destinations {
		if host := address.Read(d.Text).Host(); host != "" && roles.Known {
			hosts = append(hosts, host)
		}
	}
	return hosts, false
}

// longestPage is how long the address of a page may be.
const longestPage = 2 << 10

// offer notes the addresses of pages in an answer. An address that leads into the own machine or network is none, and neither is
// one that the agent itself may have put there, such as a search for it.
func (s *memory) offer(answer []byte, hosts []string, all bool) {
	if !all && len(hosts) == 0 {
		return
	}
	texts(answer, func(text string) {
		for _, p := range address.Find(text[:min(len(text), longestContent)]) {
			switch web := strings.HasPrefix(p.Text, "https://") || strings.HasPrefix(p.Text, "http://"); {
			case p.Kind != address.Web || !web || len(p.Text) > longestPage || address.URL(p.Text) == "" || address.Internal(p.Host):
			case !all && !within(p.Host, hosts), s.echoed(p.Text), len(s.pages) >= maxDestinations:
			default:
				s.pages[p.Text] = true
			}
		}
	})
}

func within(host string, hosts []string) bool {
	for _, h := range hosts {
		if bare(h) == bare(host) {
			return true
		}
	}
	return false
}

// longestEcho is how much of an address may stand in what the agent has said, in bytes.
const longestEcho = 12

// echoed reports whether the agent has said more than a word of an address, that nobody had said before.
func (s *memory) echoed(link string) bool {
	for _, m := range s.index.Trace(link).Matches {
		if strings.HasSuffix(m.Source.URI, sentAlong) && m.End-m.Start >= longestEcho {
			return true
		}
	}
	return false
}

// texts calls f with each text in a JSON value.
func texts(value []byte, f func(string)) {
	switch rawjson.Kind(value) {
	case '{':
		for _, inner := range rawjson.Members(value) {
			texts(inner, f)
		}
	case '[':
		for inner := range rawjson.Elements(value) {
			texts(inner, f)
		}
	case '"':
		if text, ok := rawjson.String(value); ok {
			f(text)
		}
	}
}

// offered reports whether a request to the value asks for a page that was offered, as it was.
func (t *tracer) offered(text string) bool {
	return t.stated && t.facts.PlainRead() && t.memory.pages[text]
}

// colleague reports whether a value is a mail address in the operator's own domains, where no outsider has one, whose local part is a name
// in the wishes: tom@ of Tom, maria.rossi@ of Maria Rossi.
func (t *tracer) colleague(text string) bool {
	r := address.Read(text)
	if !t.stated || !r.Sure || len(r.Places) != 1 || r.Places[0].Kind != address.Mail || r.Places[0].Text != text ||
		text != strings.ToLower(text) || !address.Within(r.Places[0].Host, t.domains) {
		return false
	}
	local, _, _ := strings.Cut(text, "@")
	parts := strings.Split(local, ".")
	for i, part := range parts {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz") != "" {
			return false
		}
		parts[i] = strings.ToUpper(part[:1]) + part[1:]
	}
	return len(local) > 1 && speech.Names(t.memory.wishes, strings.Join(parts, " "))
}

// learn notes the names that people call the things in a directory by. A name that two things have is nobody's.
func (s *memory) learn(server string, directory []overlay.Named) {
	for _, n := range directory {
		id, name := thing{server, n.ID}, thing{server, n.Name}
		if len(s.things) >= maxDestinations || len(n.ID)+len(n.Name) > longestPage {
			return
		}
		if had, ok := s.ids[name]; ok && had != n.ID {
			s.ids[name] = ""
			continue
		}
		s.ids[name], s.things[id] = n.ID, n.Name
	}
}

// called reports whether a value is the id of a thing of the call's server that the wishes name.
func (t *tracer) called(id string) bool {
	server := t.facts.Server.Name
	name := t.memory.things[thing{server, id}]
	return t.stated && name != "" && t.memory.ids[thing{server, name}] == id && speech.Names(t.memory.wishes, name)
}
