package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

// A Draft is a configuration as it was read from a file of any format, with the place of each member.
// [Draft.Finish] makes a [Config] of it. Readers fill it in through Set, Fault and Warn.
type Draft struct {
	File   string // as it is named in problems
	Config Config // as read: nothing expanded, resolved or checked

	places   map[string]Place
	problems Errors
	warnings Errors
}

// NewDraft returns an empty draft with the defaults set.
func NewDraft(file string) *Draft {
	return &Draft{
		File: file,
		Config: Config{
			Approval: Approval{Timeout: DefaultApproval, Pace: DefaultPace, Hold: DefaultHold}, Startup: DefaultStartup,
			Limits: Limits{Message: DefaultMaxMessage}, Checkpoints: Checkpoints{Every: DefaultPublish},
			Retention: Retention{Sessions: DefaultKeepSessions, Labels: DefaultKeepLabels, Content: DefaultKeepContent, Events: DefaultKeepEvents, Size: DefaultStoreSize},
		},
		places: map[string]Place{},
	}
}

// Pointer returns the JSON pointer (RFC 6901) with the given parts: the name of a member in a Draft.
func Pointer(parts ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(escape.Replace(p))
	}
	return b.String()
}

// Set records where the member with the given pointer is written. Servers are at /servers/NAME and have their members
// by the names of weir.yaml, even if their file uses other names.
func (d *Draft) Set(pointer string, at Place) { d.places[pointer] = at }

// Place returns the place of the member, or of the nearest one around it.
func (d *Draft) Place(pointer string) Place {
	for {
		if at, ok := d.places[pointer]; ok || pointer == "" {
			return at
		}
		pointer = pointer[:max(0, strings.LastIndexByte(pointer, '/'))]
	}
}

// Has reports whether Set was called for the member.
func (d *Draft) Has(pointer string) bool {
	_, ok := d.places[pointer]
	return ok
}

// Fault adds a problem with its remedy. Neither text may hold a value that can be a secret.
func (d *Draft) Fault(at Place, hint, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.File, Line: at.Line, Col: at.Col, Msg: fmt.Sprintf(format, args...), Hint: hint})
}

// Warn adds a warning, as Fault does a problem.
func (d *Draft) Warn(at Place, hint, format string, args ...any) {
	d.warnings = append(d.warnings, Problem{File: d.File, Line: at.Line, Col: at.Col, Msg: fmt.Sprintf(format, args...), Hint: hint})
}

// Problems returns the problems so far.
func (d *Draft) Problems() Errors { return d.problems }

func lookUp(lookup func(string) (string, bool), name string) (string, bool) {
	if lookup == nil {
		return "", false
	}
	return lookup(name)
}

// resolve makes a path that a file names relative to dir.
func resolve(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Options are the inputs of [Load] and [Draft.Finish] beside the file.
type Options struct {
	Dir    string                           // the base of relative paths; "": the directory of the file
	Lookup func(name string) (string, bool) // the environment that ${NAME} reads; nil: no variable is set
	Policy func(path string) error          // checks the policy file, policy.Errors are reported one by one; nil: no check

	Overlay   func(path string) error // checks an overlay file, overlay.Errors are reported one by one; nil: no check
	Catalogue []string                // the names of the catalogue's entries; nil: no check

	Rules    func(path string) (ids []string, err error) // checks a file of rules of detection; nil: no check
	Findings []string                                    // the classes and rules of detection; nil: no check
}
