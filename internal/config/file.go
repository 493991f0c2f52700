package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/spelling"
	"github.com/weir-mcp/weir/policy"
)

// The bounds of what a file may ask for.
const (
	maxWait       = 24 * time.Hour // of every duration
	minMaxMessage = 64 << 10
	maxMaxMessage = 1 << 30
)

// file reads the whole of a weir.yaml.
func (r reader) file(root ast.Node) {
	c := &r.d.Config
	seen := map[string]bool{}
	note := func(read func(member)) func(member) {
		return func(m member) { seen[m.key] = true; read(m) }
	}
	r.object(member{value: root, at: placeOf(root)}, fields{
		"version":     note(r.version),
		"servers":     note(r.servers),
		"policy":      r.text(&c.Policy),
		"overlays":    r.texts(&c.Overlays),
		"catalogue":   func(m member) { on := true; r.boolean(&on)(m); c.NoCatalogue = !on },
		"domains":     r.domains,
		"folders":     r.texts(&c.Folders),
		"mode":        r.mode,
		"record":      r.text(&c.Record),
		"store":       r.text(&c.Store),
		"durability":  r.durability,
		"retention":   r.retention,
		"capture":     r.capture,
		"checkpoints": r.checkpoints,
		"audit":       func(m member) { r.object(m, fields{"signer": r.signer}) },
		"listen":      r.listen,
		"http":        r.http,
		"console":     r.console,
		"notify":      r.notify,
		"approval":    func(m member) { r.object(m, fields{"timeout": r.duration(&c.Approval)}) },
		"annotations": r.annotations,
		"limits":      r.limits,
		"detect":      r.detection,
		"pins":        func(m member) { r.object(m, fields{"file": r.text(&c.Pins.File), "mode": r.pinMode}) },
	})
	if _, ok := root.(*ast.MappingNode); !ok {
		return
	}
	if !seen["version"] {
		r.d.Fault(Place{}, "write version: 1", "version is missing")
	}
	if !seen["servers"] {
		r.d.Fault(Place{}, "write servers: and below it NAME: with a command or a url", "servers is missing")
	}
}

func (r reader) version(m member) {
	n, ok := m.value.(*ast.IntegerNode)
	if !ok {
		r.wrong(m, "the number 1")
		return
	}
	if n.GetToken().Value != "1" {
		r.d.Fault(m.at, "write version: 1", "version %.20s is not known to this weir", n.GetToken().Value)
	}
}

func (r reader) servers(m member) {
	members, _ := r.entries(m)
	for _, e := range members {
		e.name = fmt.Sprintf("server %.80q", e.key)
		r.server(e)
	}
}

func (r reader) server(m member) {
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
		"transport": r.transport(&s.Transport),
		"headers":   r.textMap(&s.Headers),
		"auth":      r.auth(&s.Auth),
		"trust":     r.trust(&s.Trust),
		"timeout":   r.duration(&s.Timeout),
		"catalogue": r.entry(&s.Catalogue),
		"resolve":   r.patience(&s.Resolve),
		"disabled":  r.boolean(&s.Disabled),
	})
}

// scalar returns the text of a string. What YAML reads as a number or a boolean is refused: 1.10 and 0x10 would
// not come out as they were written.
func (r reader) scalar(m member, want string) (string, bool) {
	switch n := m.value.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	r.wrong(m, want)
	return "", false
}

func (r reader) text(p *string) func(member) {
	return func(m member) {
		s, ok := r.scalar(m, "text")
		if ok && s == "" {
			r.d.Fault(m.at, "remove it, or give it a value", "%s: needs a value", m.name)
		}
		*p = s
	}
}

func (r reader) texts(p *[]string) func(member) {
	return func(m member) {
		list, ok := m.value.(*ast.SequenceNode)
		if !ok {
			r.wrong(m, "a list, [a, b]")
			return
		}
		for i, v := range list.Values {
			e := member{name: m.name, pointer: m.pointer + Pointer(strconv.Itoa(i)), at: placeOf(v), value: v}
			if _, null := v.(*ast.NullNode); null {
				e.at = m.at
			}
			r.d.Set(e.pointer, e.at)
			s, _ := r.scalar(e, "text")
			*p = append(*p, s)
		}
	}
}

func (r reader) textMap(p *map[string]string) func(member) {
	return func(m member) {
		members, _ := r.entries(m)
		values := make(map[string]string, len(members))
		for _, e := range members {
			e.name = m.name
			values[e.key], _ = r.scalar(e, "text")
		}
		*p = values
	}
}

func (r reader) boolean(p *bool) func(member) {
	return func(m member) {
		n, ok := m.value.(*ast.BoolNode)
		if !ok {
			r.wrong(m, "true or false")
			return
		}
		*p = n.Value
	}
}

// entry reads the name of an entry, or false for none.
func (r reader) entry(p *string) func(member) {
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

// patience reads a duration, or false for not at all.
func (r reader) patience(p *time.Duration) func(member) {
	return func(m member) {
		if n, ok := m.value.(*ast.BoolNode); ok {
			if *p = 0; !n.Value {
				*p = -1
			}
			return
		}
		r.duration(p)(m)
	}
}

func (r reader) mode(m member) {
	r.word(m, []string{"enforce", "warn", "audit"}, func(s string) (err error) {
		r.d.Config.Mode, err = policy.ParseMode(s)
		return err
	})
}

var domain = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*$`)

// domains reads the operator's own domains.
func (r reader) domains(m member) {
	var all []string
	r.texts(&all)(m)
	for _, d := range all {
		d = strings.ToLower(d)
		if !domain.MatchString(d) {
			r.d.Fault(m.at, "write a domain like example.com; what is below it counts", "domains: bad domain %.80q", d)
		}
		r.d.Config.Domains = append(r.d.Config.Domains, d)
	}
}

// detection reads detect.
func (r reader) detection(m member) {
	d := &r.d.Config.Detect
	known := []string{"default", "notes", "off"}
	r.word(m, known, func(s string) error {
		if !slices.Contains(known, s) {
			return fmt.Errorf("unknown word %q", s)
		}
		d.Off, d.Notes = s == "off", s == "notes"
		return nil
	})
}

// pinMode reads pins.mode.
func (r reader) pinMode(m member) {
	p := &r.d.Config.Pins
	r.word(m, []string{"first-use", "review", "off"}, func(s string) error {
		switch p.Review, p.Off = s == "review", s == "off"; s {
		case "first-use", "review", "off":
			return nil
		}
		return fmt.Errorf("unknown mode %q", s)
	})
}

func (r reader) trust(p *contract.Trust) func(member) {
	return func(m member) {
		r.word(m, []string{"untrusted", "known", "trusted"}, func(s string) (err error) {
			*p, err = contract.ParseTrust(s)
			return err
		})
	}
}

func (r reader) transport(p *Transport) func(member) {
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

// word reads a member that is one of a few words.
func (r reader) word(m member, words []string, parse func(string) error) {
	s, ok := r.scalar(m, "one of "+strings.Join(words, ", "))
	if ok && parse(s) != nil {
		r.d.Fault(m.at, spelling.DidYouMean(s, words), "%s: unknown value %.40q", m.name, s)
	}
}

func (r reader) listen(m member) {
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

func (r reader) duration(p *time.Duration) func(member) {
	return func(m member) {
		s, ok := r.scalar(m, "a duration with its unit, 30s or 5m")
		if !ok {
			return
		}
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			r.d.Fault(m.at, "write a duration with its unit, 30s or 5m", "%s: bad duration %.40q", m.name, s)
		case d <= 0 || d > maxWait:
			r.d.Fault(m.at, "use more than 0s and at most 24h", "%s: %s is out of range", m.name, s)
		default:
			*p = d
		}
	}
}

var size = regexp.MustCompile(`^([0-9]{1,10}) ?(B|KiB|MiB|GiB)$`)

// limits reads what bounds the process. A message has to fit into what may be in flight.
func (r reader) limits(m member) {
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

// size reads a number of bytes.
func (r reader) size(p *int, least, most uint64) func(member) {
	return r.bytes(func(n uint64) { *p = int(n) }, least, most)
}

// bytes reads a number of bytes that set takes.
func (r reader) bytes(set func(uint64), least, most uint64) func(member) {
	return func(m member) {
		s, ok := r.scalar(m, "a size with its unit, 64MiB")
		if !ok {
			return
		}
		match := size.FindStringSubmatch(s)
		if match == nil {
			r.d.Fault(m.at, "write a size in B, KiB, MiB or GiB, like 64MiB", "%s: bad size %.40q", m.name, s)
			return
		}
		n, _ := strconv.ParseUint(match[1], 10, 64) // at most 10 digits: the shift cannot overflow
		n <<= units[match[2]]
		if n < least || n > most {
			r.d.Fault(m.at, "use "+sizeText(least)+" to "+sizeText(most), "%s: %s is out of range", m.name, s)
			return
		}
		set(n)
	}
}

// units are the powers of two of the units of sizes.
var units = map[string]uint{"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}

// sizeText writes a size in the largest unit in which it is whole.
func sizeText(n uint64) string {
	for _, unit := range []string{"GiB", "MiB", "KiB"} {
		if n%(1<<units[unit]) == 0 {
			return strconv.FormatUint(n>>units[unit], 10) + unit
		}
	}
	return strconv.FormatUint(n, 10) + "B"
}

// maxCount is more than any of the things that are counted here can be.
const maxCount = 1_000_000

// count reads a number of things.
func (r reader) count(p *int) func(member) {
	return func(m member) {
		n, ok := m.value.(*ast.IntegerNode)
		if !ok {
			r.wrong(m, "a whole number")
			return
		}
		v, err := strconv.Atoi(n.GetToken().Value)
		if err != nil || v < 1 || v > maxCount {
			r.d.Fault(m.at, "use 1 to "+strconv.Itoa(maxCount), "%s: %.20s is out of range", m.name, n.GetToken().Value)
			return
		}
		*p = v
	}
}
