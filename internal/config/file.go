package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/policy"
)

// readFile reads the whole of a weir.yaml.
func readFile(r reader, root ast.Node) {
	c := &r.d.Config
	seen := map[string]bool{}
	var expose []string
	note := func(read func(member)) func(member) {
		return func(m member) { seen[m.key] = true; read(m) }
	}
	r.object(member{value: root, at: placeOf(root)}, fields{
		"version":     note(r.by(readVersion)),
		"servers":     note(r.by(readServers)),
		"expose":      readExpose(r, &expose),
		"policy":      r.text(&c.Policy),
		"overlays":    r.texts(&c.Overlays),
		"catalogue":   func(m member) { on := true; r.boolean(&on)(m); c.NoCatalogue = !on },
		"domains":     r.by(readDomains),
		"me":          r.by(readMe),
		"readers":     r.by(readReaders),
		"folders":     r.texts(&c.Folders),
		"mode":        r.by(readMode),
		"record":      r.text(&c.Record),
		"store":       r.text(&c.Store),
		"durability":  r.by(readDurability),
		"retention":   r.by(readRetention),
		"capture":     r.by(readCapture),
		"checkpoints": r.by(readCheckpoints),
		"audit":       func(m member) { r.object(m, fields{"signer": r.by(readSigner)}) },
		"listen":      r.by(readListen),
		"http":        r.by(readHTTP),
		"console":     r.by(readConsole),
		"notify":      r.by(readNotify),
		"approval":    r.by(readApproval),
		"annotations": r.by(readAnnotations),
		"limits":      r.by(readLimits),
		"detect":      r.by(readDetection),
		"quarantine":  r.by(readQuarantine),
		"plan":        r.oneOf(&c.Plan, OfferPlans, StrictPlans),
		"exec":        r.boolean(&c.Exec),
		"sanitizers":  r.by(readSanitizers),
		"isolated":    r.texts(&c.Isolated),
		"templates":   note(r.by(readTemplates)),
		"pins":        func(m member) { r.object(m, fields{"file": r.text(&c.Pins.File), "mode": r.by(readPinMode)}) },
	})
	for i := range c.Servers {
		c.Servers[i].Expose = append(c.Servers[i].Expose, expose...)
	}
	if _, ok := root.(*ast.MappingNode); !ok {
		return
	}
	if seen["templates"] && c.Plan == "" {
		r.d.Fault(r.d.Place(Pointer("templates")), "write plan: offer, or plan: strict, with which only templates are taken",
			"templates: no agent is offered plans")
	}
	if !seen["version"] {
		r.d.Fault(Place{}, "write version: 1", "version is missing")
	}
	if !seen["servers"] {
		r.d.Fault(Place{}, "write servers: and below it NAME: with a command or a url", "servers is missing")
	}
}

func readVersion(r reader, m member) {
	n, ok := m.value.(*ast.IntegerNode)
	if !ok {
		r.wrong(m, "the number 1")
		return
	}
	if n.GetToken().Value != "1" {
		r.d.Fault(m.at, "write version: 1", "version %.20s is not known to this weir", n.GetToken().Value)
	}
}

func readServers(r reader, m member) {
	members, _ := r.entries(m)
	for _, e := range members {
		e.name = fmt.Sprintf("server %.80q", e.key)
		readServer(r, e)
	}
}

func readServer(r reader, m member) {
	if _, ok := m.value.(*ast.MappingNode); !ok {
		r.wrong(m, "a mapping, NAME: value")
		return
	}
	r.d.Config.Servers = append(r.d.Config.Servers, Server{Name: m.key})
	s := &r.d.Config.Servers[len(r.d.Config.Servers)-1]
	r.object(m, fields{
		"command":   r.text(&s.Command),
		"args":      r.texts(&s.Args),
		"env":       r.textMap(&s.Env),
		"cwd":       r.text(&s.Dir),
		"url":       r.text(&s.URL),
		"transport": readTransport(r, &s.Transport),
		"headers":   r.textMap(&s.Headers),
		"auth":      readAuth(r, &s.Auth),
		"trust":     readTrust(r, &s.Trust),
		"timeout":   r.duration(&s.Timeout),
		"catalogue": readEntry(r, &s.Catalogue),
		"resolve":   r.patience(&s.Resolve),
		"results":   readResults(r, &s.Hide),
		"readers":   r.texts(&s.Readers),
		"expose":    readExpose(r, &s.Expose),
		"disabled":  r.boolean(&s.Disabled),
	})
}

// readExpose reads a condition on tools.
func readExpose(r reader, p *[]string) func(member) {
	return func(m member) {
		var text string
		r.text(&text)(m)
		_, err := policy.ParseSelection(text)
		var problems policy.Errors
		switch {
		case text == "": // it is a fault already
		case errors.As(err, &problems):
			for _, wrong := range problems {
				r.d.Fault(m.at, wrong.Hint, "%s: %s", m.name, wrong.Msg)
			}
		case err != nil:
			r.d.Fault(m.at, "", "%s: %v", m.name, err)
		default:
			*p = append(*p, text)
		}
	}
}

// readResults reads hide or show, or a mapping of tools to hide.
func readResults(r reader, hide *[]string) func(member) {
	words := []string{"hide", "show"}
	word := func(m member, name string) {
		r.word(m, words, func(s string) error {
			switch s {
			case "hide":
				*hide = append(*hide, name)
			case "show":
			default:
				return fmt.Errorf("unknown word %q", s)
			}
			return nil
		})
	}
	return func(m member) {
		if _, ok := m.value.(*ast.MappingNode); !ok {
			word(m, AllResults)
			return
		}
		tools, _ := r.entries(m)
		for _, tool := range tools {
			if tool.key == AllResults {
				r.d.Fault(tool.at, "write results: hide for all tools", "%s: * is no tool", m.name)
				continue
			}
			tool.name = fmt.Sprintf("%s.%.80q", m.name, tool.key)
			word(tool, tool.key)
		}
	}
}

// readEntry reads the name of an entry, or false for none.
func readEntry(r reader, p *string) func(member) {
	return func(m member) {
		if n, ok := m.value.(*ast.BoolNode); ok {
			if *p = ""; !n.Value {
				*p = NoCatalogue
			}
			return
		}
		r.text(p)(m)
	}
}

func readMode(r reader, m member) {
	r.word(m, []string{"enforce", "warn", "audit"}, func(s string) (err error) {
		r.d.Config.Mode, err = policy.ParseMode(s)
		return err
	})
}

var domain = pattern.New(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*$`)

// readDomains reads the operator's own domains.
func readDomains(r reader, m member) {
	var all []string
	r.texts(&all)(m)
	for _, d := range all {
		d = strings.ToLower(d)
		if !domain().MatchString(d) {
			r.d.Fault(m.at, "write a domain like example.com, which includes its subdomains", "domains: bad domain %.80q", d)
		}
		r.d.Config.Own.Domains = append(r.d.Config.Own.Domains, d)
	}
}

// readMe reads the user's own mail addresses.
func readMe(r reader, m member) {
	r.texts(&r.d.Config.Own.Me)(m)
	for _, own := range r.d.Config.Own.Me {
		if address.BareMail(own) == "" {
			r.d.Fault(m.at, "write one mail address like ann@example.com, without a name, for each entry", "me: bad address %.80q", own)
		}
	}
}

// readApproval reads the section of that name.
func readApproval(r reader, m member) {
	a := &r.d.Config.Approval
	host := func(m member) { on := true; r.boolean(&on)(m); a.NoHost = !on }
	r.object(m, fields{"timeout": r.duration(&a.Timeout), "host": host, "pace": r.patience(&a.Pace), "hold": r.patience(&a.Hold)})
	a.Pace, a.Hold = max(a.Pace, 0), max(a.Hold, 0)
}

// readPinMode reads pins.mode.
func readPinMode(r reader, m member) {
	p := &r.d.Config.Pins
	r.word(m, []string{"first-use", "review", "off"}, func(s string) error {
		switch p.Review, p.Off = s == "review", s == "off"; s {
		case "first-use", "review", "off":
			return nil
		}
		return fmt.Errorf("unknown mode %q", s)
	})
}

func readTrust(r reader, p *contract.Trust) func(member) {
	return func(m member) {
		r.word(m, []string{"untrusted", "known", "trusted"}, func(s string) (err error) {
			*p, err = contract.ParseTrust(s)
			return err
		})
	}
}

func readTransport(r reader, p *Transport) func(member) {
	return func(m member) {
		known := []string{string(Stdio), string(HTTP), string(SSE)}
		r.word(m, known, func(s string) error {
			if !slices.Contains(known, s) {
				return fmt.Errorf("unknown transport %q", s)
			}
			*p = Transport(s)
			return nil
		})
	}
}

func readListen(r reader, m member) {
	s, ok := r.scalar(m, "an address, 127.0.0.1:8080")
	if !ok {
		return
	}
	addr, _, ok := ParseListen(s)
	if !ok {
		r.d.Fault(m.at, "write HOST:PORT, like 127.0.0.1:8080", "listen: bad address %.80q", s)
		return
	}
	r.d.Config.Listen = addr
}

// readLimits reads the limits of the process. A message has to fit into the limit of bytes in flight.
func readLimits(r reader, m member) {
	c := &r.d.Config
	l := &c.Limits
	r.object(m, fields{
		"startup": r.duration(&c.Startup), "message": r.size(&c.Limits.Message, minMaxMessage, maxMaxMessage),
		"in_flight": r.size(&l.InFlight, 1<<20, 64<<30), "traces": r.size(&l.Traces, 1<<20, 64<<30),
		"connections": r.count(&l.Connections), "sessions": r.count(&l.Sessions), "processes": r.count(&l.Processes),
	})
	if least := 2 * c.Limits.Message; l.InFlight > 0 && l.InFlight < least {
		r.d.Fault(m.at, "set it to twice limits.message, "+sizeText(uint64(least))+", or more", "%s: in_flight is too small for one message", m.name)
	}
}
