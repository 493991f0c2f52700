package hook

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/weir-mcp/weir/internal/cmdline"
	"github.com/weir-mcp/weir/internal/expression"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
)

var (
	nameEnd    = pattern.New(`[:-][0-9]+[:-]`)
	otherName  = pattern.New(`[:-][0-9]+[:-]|(^|/)\.\.(/|$)`) // of a folder: a line has the end of its name elsewhere
	fileHeader = pattern.New(`^diff --git a/(.+) b/(.+)$`)
	ofLog      = pattern.New(`^(commit [0-9a-f]+( .*)?|(Author|Date|Merge): .*|[0-9a-f]{4,64} .*|[0-9]+\t[0-9]+\t.*| .*|---)$`)
)

// harmless reports whether an output of a form names files that hold no credentials, and no others.
func harmless(text string, form cmdline.Form, on *shelf) bool {
	switch form {
	case cmdline.Lines:
		return everyLine(text, func(line string) bool { return line == "--" || on.isHarmless(line) })
	case cmdline.Patch:
		before, _, found := strings.Cut("\n"+text, "\ndiff --git ")
		return text == "" || found && everyLine(before, ofLog().MatchString) && everyLine(text, func(line string) bool {
			return !strings.HasPrefix(line, "diff ") || names(fileHeader(), line)
		})
	}
	return false
}

func everyLine(text string, ok func(string) bool) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && !ok(line) {
			return false
		}
	}
	return true
}

// names reports whether a line names files, and none of them may hold credentials.
func names(form *regexp.Regexp, line string) bool {
	m := form.FindStringSubmatch(line)
	return m != nil && !slices.ContainsFunc(m[1:], func(name string) bool { return !expression.PathNoSecrets(name) })
}

// maxShelf is how many names are read to tell the ends of names in a result.
const maxShelf = 1 << 16

// A shelf knows which names in folders of this machine have the form of an end of a name in them, as a.html-06-01
// does: nothing tells where such a name ends in a line of a search.
type shelf struct {
	bases []string // folders that names may be relative to
	end   *regexp.Regexp
	odd   map[string]oddNames
	left  int // names that may still be read
}

// oddNames are those of one folder.
type oddNames struct {
	names []string
	known bool
}

// newShelf returns the one for the result of a call.
func newShelf(e *Event, args json.RawMessage) *shelf {
	s := &shelf{bases: []string{e.Folder}, end: nameEnd(), odd: map[string]oddNames{}, left: maxShelf}
	raw, _ := rawjson.Get(args, memberWithin)
	for one := range rawjson.Elements(raw) {
		if base, ok := rawjson.String(one); ok {
			s.bases = append(s.bases, base)
		}
	}
	return s
}

// isHarmless reports whether a line of a search names a file that holds no credentials. It does not of a name that may
// go on behind its first end.
func (s *shelf) isHarmless(line string) bool {
	at := s.end.FindStringIndex(line)
	if at == nil || strings.Contains(line[:at[0]], "\uFFFD") { // not all bytes of the name are known
		return false
	}
	dir, start := path.Split(line[:at[1]])
	return expression.PathNoSecrets(line[:at[0]]) && !s.goesOn(dir, start)
}

// goesOn reports whether a name in a folder begins with a text that looks like the end of one, or has several lines,
// each of which may look like a line of its own.
func (s *shelf) goesOn(dir, start string) bool {
	odd, ok := s.odd[dir]
	if !ok {
		odd = s.read(dir)
		s.odd[dir] = odd
	}
	return !odd.known || slices.ContainsFunc(odd.names, func(n string) bool {
		return strings.HasPrefix(n, start) || strings.ContainsAny(n, "\r\n")
	})
}

// read returns the odd names of a folder. They are known only if each folder that the name may be relative to is not
// there or was read whole.
func (s *shelf) read(dir string) (odd oddNames) {
	bases := s.bases
	if filepath.IsAbs(dir) {
		bases = []string{""}
	}
	for _, base := range bases {
		if s.left <= 0 {
			return oddNames{}
		}
		names, err := namesIn(filepath.Join(base, dir), s.left+1)
		s.left -= len(names) + 1
		if s.left < -1 || err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return oddNames{}
		}
		odd.known = odd.known || err == nil
		odd.names = append(odd.names, slices.DeleteFunc(names, func(n string) bool { return !s.end.MatchString(n) })...)
	}
	return odd
}
