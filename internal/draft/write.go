package draft

import (
	"fmt"
	"io"
	"strings"

	"github.com/weir-mcp/weir/internal/plain"
)

// A Server is the server that drafts are for. An overlay finds it by its package, else by its URL, else by its name.
type Server struct {
	Name    string // in weir.yaml
	Package string // that its command line runs; "" if none is known
	URL     string // "" for a command
	Drafts  []Draft
}

// Write writes drafts as an overlay file, marked as drafts, with the confidence and the reason of each line.
func Write(w io.Writer, servers []Server) error {
	var b strings.Builder
	b.WriteString("# A draft: every line is a guess, with its confidence and its reason. As long as draft: true is here it only makes\n" +
		"# Weir more careful. Correct it, then remove that line.\nversion: 1\noverlays:\n")
	for _, s := range servers {
		s.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s Server) write(b *strings.Builder) {
	fmt.Fprintf(b, "  - name: %s\n    draft: true\n    match:\n", quote(s.Name))
	switch {
	case s.Package != "":
		fmt.Fprintf(b, "      - package: %s\n", quote(s.Package))
	case s.URL != "":
		fmt.Fprintf(b, "      - url: %s\n", quote(s.URL))
	default:
		fmt.Fprintf(b, "      - server: %s\n", quote(s.Name))
	}
	b.WriteString("    tools:\n")
	for _, d := range s.Drafts {
		d.write(b)
	}
}

func (d Draft) write(b *strings.Builder) {
	fmt.Fprintf(b, "      %s: # %s\n", quote(d.Tool), d.Kind)
	if len(d.Lines) == 0 {
		b.WriteString("        contract: {openWorld: true} # low: nothing is known of it\n")
	} else {
		b.WriteString("        contract:\n")
		for _, l := range d.Lines {
			fmt.Fprintf(b, "          %s: %s # %s: %s\n", l.Member, l.Value, l.Confidence, plain.Text(l.Reason, 200))
		}
	}
	if len(d.Destinations)+len(d.Contents) == 0 {
		return
	}
	b.WriteString("        arguments:\n")
	for _, role := range []struct {
		name string
		all  []Role
	}{{"destination", d.Destinations}, {"content", d.Contents}} {
		if len(role.all) == 0 {
			continue
		}
		var names, reasons []string
		for _, r := range role.all {
			names = append(names, quote(r.Argument))
			reasons = append(reasons, r.Reason)
		}
		fmt.Fprintf(b, "          %s: [%s] # low: %s\n", role.name, strings.Join(names, ", "), plain.Text(strings.Join(reasons, "; "), 400))
	}
}

// quote returns text as a YAML scalar in double quotes.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f || r == 0x85 || r == 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
