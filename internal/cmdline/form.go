package cmdline

import (
	"regexp"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// A Form is that of an output in which the name of a file stands before its contents.
type Form string

// The forms.
const (
	Patch Form = "patch" // of git: diff --git a/NAME b/NAME
	Lines Form = "lines" // of a search: NAME:12:text, or NAME-12-text

	// Of outputs that are looked at for names of others alone.
	Paths  Form = "paths"  // each line is a name
	Named  Form = "named"  // NAME:text
	Counts Form = "counts" // numbers alone
)

var (
	// plainSearch and plainPatch match the options of which each form is known. Not among them are those that
	// leave names out, end lines otherwise, follow links, or put a text of the line's author at the begin of a line.
	plainSearch = pattern.New(`^(-[rniIwEFHsv]+|-[ABCm]?[0-9]*|-[egtT].*|--(line-number|recursive|ignore-case|word-regexp|fixed-strings|` +
		`extended-regexp|invert-match|include|exclude|exclude-dir|max-count|context|after-context|before-context|glob|type|hidden|no-ignore|` +
		`no-heading|color=never)(=.*)?)$`)
	plainPatch = pattern.New(`^(-[pswb]+|-[nU]?[0-9]*|-[SG].*|--(patch|stat|shortstat|numstat|summary|cached|staged|unified|oneline|no-color|` +
		`color=never|no-ext-diff|no-textconv|no-merges|first-parent|reverse|follow|since|until|after|before|author|grep|max-count|skip|diff-filter|` +
		`ignore-all-space)(=.*)?)$`)

	// likeLines matches paths of which a reader of lines may take a part for the whole, or that are names of others.
	likeLines = pattern.New(`[:-][0-9]+[:-]|(^|/)\.\.(/|$)|[*?]`)
)

// form returns how the output of a command names files, if it is all of the output.
func (r read) form() Form {
	every := func(form *regexp.Regexp) bool {
		return !slices.ContainsFunc(r.options, func(o option) bool { return !form.MatchString(o.word.text) })
	}
	switch {
	case r.command.history: // any other object is shown without a name, or by the name of a file with which it is compared
		if every(plainPatch()) && r.ofHead() {
			return Patch
		}
	case r.has("-n --line-number") && every(plainSearch()) && !r.onlyInput() && r.inNamed():
		return Lines
	}
	return ""
}

// inNamed reports whether the output of a search names files so that the end of each name is seen.
func (r read) inNamed() bool {
	paths := r.operands
	if len(paths) > 0 && !r.hasPattern() {
		paths = paths[1:]
	}
	nameless := !r.command.needle && r.has("-I") // of rg
	return !nameless && !slices.ContainsFunc(paths, func(p word) bool { return likeLines().MatchString(p.text) })
}

// hasPattern reports whether an option holds the pattern of a search.
func (r read) hasPattern() bool { return r.has("-e") }

// onlyInput reports whether a search reads its input alone: it names no file, and no option has it look for some.
func (r read) onlyInput() bool {
	return r.command.needle && len(r.operands) == 1 && !r.hasPattern() && !r.has("-r -R --recursive")
}

// ofHead matches the commits of the history of the work tree.
var ofHead = pattern.New(`^HEAD(~[0-9]*)*(\.\.\.?HEAD(~[0-9]*)*)?$`)

// selecting are options of searches that choose among files or lines.
const selecting words = "-g -t --glob --type --include --exclude --exclude-dir --hidden --no-ignore --recursive --ignore-case --fixed-strings " +
	"--word-regexp --extended-regexp --only-matching --invert-match --no-heading --color"

// told returns how the output of a search that goes through folders names their files.
func (r read) told() Form {
	only := func(letters string, long words) bool {
		return !slices.ContainsFunc(r.options, func(o option) bool {
			return slices.ContainsFunc(o.names, func(name string) bool { return !long.has(name) && !isLetterOf(name, letters) })
		})
	}
	switch {
	case !r.inNamed():
	case r.has("-l --files --files-with-matches") && only("rRiwEFsul", selecting+" --files --files-with-matches"):
		return Paths
	case r.form() == Lines:
		return Lines
	case only("rRiwEFsuHvox", selecting):
		return Named
	}
	return ""
}

// hasOneOf reports whether an option is one of a set, or one of the letters.
func (r read) hasOneOf(set words, letters string) bool {
	return r.has(set) || slices.ContainsFunc(r.options, func(o option) bool {
		return slices.ContainsFunc(o.names, func(name string) bool { return isLetterOf(name, letters) })
	})
}

// isLetterOf reports whether an option is one of the letters.
func isLetterOf(name, letters string) bool {
	letter, ok := strings.CutPrefix(name, "-")
	return ok && len(letter) == 1 && strings.Contains(letters, letter)
}
