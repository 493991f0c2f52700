package cmdline

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// The language that all shells read alike is short on purpose. A word of it is plain, or quoted as a whole, and has
// none of the signs that some shell reads in its own way:
//
//   - a backslash is an escape in single quotes of fish, and a separator in Windows;
//   - PowerShell splits words at commas, takes a word with one hyphen apart at a point or a colon, and has quotes and
//     hyphens that are not ASCII;
//   - csh takes 2>&1 for a file named 1, and nushell > for a word;
//   - nushell takes ... for ../..;
//   - cmd.exe knows no single quotes, and gives batch files a line to read once more, without some of its quotes;
//   - $, `, !, %, ^, ~, =, {}, [], *, ? and # expand, assign, call or comment in one or the other.
var (
	plainWord = pattern.New(`^(--([A-Za-z0-9][A-Za-z0-9-]*(=[A-Za-z0-9_./:+-]+)?)?|-[A-Za-z0-9][A-Za-z0-9_-]*(=[A-Za-z0-9_-]+)?|` +
		`[A-Za-z0-9_./][A-Za-z0-9_./:+-]*|[0-9]+,[0-9]+[a-z]?|\x00)$`)
	operators = pattern.New(`&&|\|\|?|;`)

	quotedInUnix    = pattern.New(`"[A-Za-z0-9_./:,@%+= |()<>&;*?{}\[\]#-]+"|'[A-Za-z0-9_./:,@%+= |()<>&;*?{}\[\]#-]+'`)
	quotedInWindows = pattern.New(`"[A-Za-z0-9_./:,@+= -]+"|'[A-Za-z0-9_./:,@+=-]+'`)
)

// isCommon reports whether a line has words of the common language alone.
func isCommon(line string, quoted *regexp.Regexp) bool {
	line = trimmed(line)
	rest := operators().ReplaceAllString(quoted.ReplaceAllString(line, "\x00"), " ")
	for word := range strings.SplitSeq(rest, " ") {
		if word != "" && !plainWord().MatchString(word) {
			return false
		}
	}
	return !strings.Contains(line, "\x00") && !endsOptions(line) && !climbs(line)
}

// UnderstandAnywhere returns the deed of a line that all shells of Unix read alike (fish, csh, nushell, xonsh,
// PowerShell), beside those of [Understand].
func UnderstandAnywhere(line string) (d Deed, ok bool) {
	if !isCommon(line, quotedInUnix()) {
		return Deed{}, false
	}
	return Understand(line)
}

// UnderstandInWindows returns the deed of a line that [ReadOnly] takes for one that reads. Which files its paths lead
// to is not known.
func UnderstandInWindows(line string) (d Deed, ok bool) {
	if !ReadOnly(line) {
		return Deed{}, false
	}
	d, ok = Understand(line)
	d.Within, d.Shows, d.Others, d.Names = append(d.Within, "/"), []string{"/"}, true, ""
	return d, ok
}

// ReadOnly reports whether the line is one command that only reads, in the shells of Unix, cmd.exe and PowerShell.
func ReadOnly(line string) bool {
	_, ok := reading(line)
	return ok
}

// Reads returns the words of a command that only reads and that may be names of files whose contents it shows. It is
// not ok for any other line, nor where the contents of files are shown that the line does not name.
func Reads(line string) (operands []string, ok bool) {
	r, ok := reading(line)
	if !ok {
		return nil, false
	}
	for _, o := range r.operands {
		operands = append(operands, o.text)
	}
	switch shows := r.shows(); {
	case shows == unnamed:
		return nil, false
	case shows == nothing: // but PowerShell lists variables as ls env:
		return nil, !slices.ContainsFunc(operands, func(o string) bool { return strings.Contains(o, ":") })
	case r.command.script || r.command.needle:
		operands = operands[1:]
	}
	// PowerShell takes a word with commas for several.
	return operands, !slices.ContainsFunc(operands, func(o string) bool { return strings.Contains(o, ",") })
}

// reading also wants [Understand] to take the line for one that reads: two readers that disagree believe nothing.
func reading(line string) (read, bool) {
	words, ok := Words(line)
	d, understood := Understand(line)
	if !ok || !understood || d.Does != Reading || !isCommon(line, quotedInWindows()) || strings.Contains(line, "//") ||
		slices.ContainsFunc(d.Within, NamesHost) {
		return read{}, false
	}
	c, ok := commands[words[0]]
	words = words[1:]
	if ok && c.verbs != nil {
		c, ok = c.verbs[words[0]], c.verbs[words[0]].known
		words = words[1:]
	}
	if !ok {
		return read{}, false
	}
	return c.accepts(literals(words))
}

// NamesHost reports whether a path leads to another host by its text: to a share of Windows, or into a folder in which
// hosts are mounted when they are named. To look at it would be a connection already.
func NamesHost(p string) bool { return share().MatchString(p) || mounts().MatchString(path.Clean(p)) }

var (
	share  = pattern.New(`^[/\\]{2}[^/ ]`)
	mounts = pattern.New(`(?i)^/(net|afs)(/|$)`)
)

// endsOptions reports whether a word behind -- looks like an option, which it is for a shell that drops that word.
func endsOptions(line string) bool {
	_, behind, _ := strings.Cut(line, " -- ")
	return strings.Contains(" "+behind, " -")
}

// climbs reports whether a word has ... in another place than packages of Go have it: ./... and ./a/... are those.
func climbs(line string) bool {
	all := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \"'=|&;", r) })
	return slices.ContainsFunc(all, func(w string) bool {
		above, packages := strings.CutSuffix(w, "/...")
		return strings.Contains(above, "...") || packages && above != "." && !strings.HasPrefix(above, "./")
	})
}
