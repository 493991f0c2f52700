package config

import (
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// readCapture reads which parts of arguments and results are kept.
func readCapture(r reader, m member) {
	c := &r.d.Config.Capture
	r.object(m, fields{
		"content":      r.by(readCaptureContent),
		"recipients":   r.by(readRecipients),
		"destinations": r.boolean(&c.Destinations),
		"fields":       func(m member) { c.Fields = readCaptureFields(r, m) },
	})
}

func readCaptureContent(r reader, m member) {
	r.word(m, []string{"off", "encrypted"}, func(s string) error {
		r.d.Config.Capture.Content = s == "encrypted"
		if s != "off" && s != "encrypted" {
			return fmt.Errorf("unknown word %q", s)
		}
		return nil
	})
}

var recipient = pattern.New(`^age1[02-9ac-hj-np-z]{20,}$`)

func readRecipients(r reader, m member) {
	r.texts(&r.d.Config.Capture.Recipients)(m)
	for i, key := range r.d.Config.Capture.Recipients {
		if !recipient().MatchString(key) { // which may be a secret one
			r.d.Fault(m.at, "write the public key of an age identity, age1…", "%s: number %d is no public key of age", m.name, i+1)
		}
	}
}

// maxCaptureFields is how many members may be named for one tool.
const maxCaptureFields = 32

// readCaptureFields reads the members of arguments and results to keep, by tool.
func readCaptureFields(r reader, m member) map[string][]string {
	tools, _ := r.entries(m)
	all := map[string][]string{}
	for _, tool := range tools {
		tool.name = m.name
		var pointers []string
		r.texts(&pointers)(tool)
		if !strings.Contains(tool.key, "/") && tool.key != "*" {
			r.d.Fault(tool.at, "write SERVER/TOOL, SERVER/* or *", "%s: %.80q names no tool", m.name, tool.key)
		}
		if len(pointers) > maxCaptureFields {
			r.d.Fault(tool.at, "name fewer", "%s: more than %d members of %.80q", m.name, maxCaptureFields, tool.key)
		}
		for _, p := range pointers {
			if !isCapturePointer(p) {
				r.d.Fault(tool.at, "write /arguments/MEMBER or /result/MEMBER", "%s: bad member %.80q", m.name, p)
			}
		}
		all[tool.key] = pointers
	}
	return all
}

// isCapturePointer reports whether p points to a member of arguments or a result.
func isCapturePointer(p string) bool {
	rest, ok := strings.CutPrefix(p, "/arguments/")
	if !ok {
		rest, ok = strings.CutPrefix(p, "/result/")
	}
	return ok && rest != "" && len(p) <= 256
}
