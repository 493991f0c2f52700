package overlay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"cel.dev/cel-go/cel"
	"github.com/goccy/go-yaml/ast"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/expression"
)

// Limits of an overlay file.
const (
	maxSource      = 1 << 20 // bytes
	maxEntries     = 1000
	maxDefinitions = 1000 // of one entry, for each of tools, resources and prompts
	maxName        = 256  // bytes
)

// language is the compiler of conditions: it does not change, and it takes longer to make than a file takes to load.
var language = sync.OnceValues(func() (*expression.Compiler, error) {
	return expression.New([]expression.Variable{
		{Name: expression.Arguments, Type: cel.MapType(cel.StringType, cel.DynType)},
	})
})

// Load reads an overlay file. The name stands in messages. If anything is wrong with the file, the error is an [Errors]
// that holds every problem, and there is no set.
func Load(name string, src []byte) (*Set, error) {
	c, err := language()
	if err != nil {
		return nil, err
	}
	l := &loader{Document: document.Document{Name: name, Empty: "begin with version: 1 and overlays:"}, compiler: c}
	s := l.load(src)
	if len(l.Problems) > 0 {
		l.Problems.Sort()
		return nil, l.Problems
	}
	return s, nil
}

// A loader builds a set from one file.
type loader struct {
	document.Document
	compiler *expression.Compiler
	lines    map[string]int // by entry name
}

func (l *loader) load(src []byte) *Set {
	root := l.Parse(src, maxSource)
	if root == nil {
		return nil
	}
	m, ok := l.Members(root, "the file", []string{"version", "overlays"})
	if !ok {
		return nil
	}
	l.version(m)
	list, ok := m["overlays"]
	if !ok {
		l.Complain(document.Mark{Line: 1, Col: 1}, "add overlays: and a list of them", "the file has no overlays")
		return nil
	}
	elements := l.Elements(list.Value, "overlays")
	if len(elements) > maxEntries {
		l.Complain(list.At, "", "%d overlays, more than the %d that a file may have", len(elements), maxEntries)
		return nil
	}
	digest := sha256.Sum256(src)
	s := &Set{digest: hex.EncodeToString(digest[:])}
	l.lines = make(map[string]int, len(elements))
	for _, n := range elements {
		if e := l.entry(n); e != nil {
			e.digest = s.digest
			s.entries = append(s.entries, e)
		}
	}
	return s
}

func (l *loader) version(m map[string]document.Member) {
	v, ok := m["version"]
	if !ok {
		l.Complain(document.Mark{Line: 1, Col: 1}, "add version: 1", "the file has no version")
		return
	}
	if n, ok := v.Value.(*ast.IntegerNode); !ok || fmt.Sprint(n.Value) != "1" {
		l.Complain(document.At(v.Value), "write version: 1", "unknown version")
	}
}

// entryMembers are what an entry may state.
var entryMembers = []string{"name", "title", "source", "date", "checked", "unchecked", "draft", "commandLine", "match",
	"tools", "resources", "prompts"}

func (l *loader) entry(n ast.Node) *entry {
	m, ok := l.Members(n, "overlay", entryMembers)
	if !ok {
		return nil
	}
	e := &entry{Entry: Entry{File: l.Name, Line: document.At(n).Line}}
	l.entryName(e, n, m)
	for _, field := range []struct {
		name string
		to   *string
	}{{"title", &e.Title}, {"source", &e.Source}, {"date", &e.Date}, {"checked", &e.Checked}, {"unchecked", &e.Unchecked}} {
		if member, ok := m[field.name]; ok {
			*field.to = strings.TrimSpace(l.Text(member).Value)
		}
	}
	if member, ok := m["draft"]; ok {
		e.Draft, _ = l.Bool(member)
	}
	if member, ok := m["commandLine"]; ok {
		e.programs, _ = l.Bool(member)
	}
	if member, ok := m["date"]; ok && e.Date != "" {
		if _, err := time.Parse(time.DateOnly, e.Date); err != nil {
			l.Complain(document.At(member.Value), "write it as 2026-11-21", "the date is no day")
		}
	}
	if member, ok := m["unchecked"]; ok && e.Checked != "" {
		l.Complain(member.At, "keep one of them", "the overlay is both checked and unchecked")
	}
	l.matches(e, n, m)
	for _, field := range []struct {
		name string
		to   *definitions
	}{{"tools", &e.tools}, {"resources", &e.resources}, {"prompts", &e.prompts}} {
		if member, ok := m[field.name]; ok {
			*field.to = l.definitions(e, member)
		}
	}
	return e
}

func (l *loader) entryName(e *entry, n ast.Node, m map[string]document.Member) {
	member, ok := m["name"]
	if !ok {
		l.Complain(document.At(n), "add name: …", "the overlay has no name")
		return
	}
	s := l.Text(member)
	if !s.Present() {
		return
	}
	e.Name = s.Value
	if e.Name == "" || len(e.Name) > maxName || strings.ContainsFunc(e.Name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		l.Complain(s.At, "use a short word, such as filesystem", "the name is empty, not printable or longer than %d bytes", maxName)
	}
	if line, seen := l.lines[e.Name]; seen {
		l.Complain(s.At, "give each overlay a name of its own", "a second overlay with the name %q; the first is in line %d", e.Name, line)
		return
	}
	l.lines[e.Name] = s.At.Line
}

func (l *loader) matches(e *entry, n ast.Node, m map[string]document.Member) {
	member, ok := m["match"]
	if !ok {
		l.Complain(document.At(n), "add match: and below it - package: …, - command: …, - url: … or - server: …",
			"the overlay does not say which servers it is for")
		return
	}
	elements := l.Elements(member.Value, "match")
	if len(elements) == 0 {
		l.Complain(document.At(member.Value), "add - package: …, - command: …, - url: … or - server: …", "match has no items")
	}
	for _, n := range elements {
		if fits, ok := l.match(n); ok {
			e.matches = append(e.matches, fits)
		}
	}
}

func (l *loader) match(n ast.Node) (one match, ok bool) {
	before := len(l.Problems)
	m, ok := l.Members(n, "match", []string{"package", "registry", "version", "command", "url", "server"})
	if !ok {
		return match{}, false
	}
	for name, to := range map[string]*string{"package": &one.pkg, "command": &one.command, "server": &one.server} {
		if member, ok := m[name]; ok {
			if *to = l.Text(member).Value; *to == "" || name != "server" && isGlob(*to) {
				l.Complain(document.At(member.Value), "write the whole name", "%s is empty, or has a star", name)
			}
		}
	}
	if member, ok := m["url"]; ok {
		var hint string
		if s := l.Text(member); s.Present() {
			if one.url, hint = parseURLPattern(s.Value); hint != "" {
				l.Complain(s.At, hint, "url is no pattern of a URL")
			}
		}
	}
	if member, ok := m["registry"]; ok {
		one.from = registry(l.Text(member).Value)
		if all := []registry{npm, pypi, golang, images}; one.pkg == "" || !slices.Contains(all, one.from) {
			l.Complain(member.At, "write it with package: … as npm, pypi, go or image", "no registry of a package")
		}
	}
	if member, ok := m["version"]; ok {
		l.versionRange(member, &one)
	}
	if len(m) == 0 && len(l.Problems) == before {
		l.Complain(document.At(n), "add package, command, url or server", "an item of match without members fits nothing")
	}
	return one, len(m) > 0
}

func (l *loader) versionRange(member document.Member, one *match) {
	if one.pkg == "" {
		l.Complain(member.At, "add package: …", "a version has no meaning without a package")
	}
	s := l.Text(member)
	if !s.Present() {
		return
	}
	r, err := parseVersionRange(s.Value)
	if err != nil {
		l.Complain(s.At, `write it as ">=1.2 <2"`, "bad version range: %v", err)
	}
	one.version = r
}
