package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// A search is a tool that looks through folders.
type search struct {
	path       string   // the argument for its folder; severalPaths for one path or a list of them
	patterns   []string // arguments for patterns of paths below the folder
	everywhere bool     // without a folder it looks through every one that the host was given; else through the working directory
}

// severalPaths is the argument that may be one path or a list of them; overlays see a list.
const severalPaths = "paths"

// everything is the folder of a search of which it is not known where it looks.
const everything = "/"

// folders returns the folders that a search looks through, as absolute paths or as given.
func (e *Event) folders(s search) []string {
	for _, name := range s.patterns {
		raw, given := rawjson.Get(e.Input, name)
		if pattern, ok := rawjson.String(raw); given && (!ok || !inside(pattern)) {
			return []string{everything}
		}
	}
	raw, given := rawjson.Get(e.Input, s.path)
	if !given {
		if s.everywhere {
			return []string{everything}
		}
		return []string{e.Folder}
	}
	all := []string{}
	for one := range listed(raw, s.path == severalPaths) {
		p, ok := rawjson.String(one)
		if !ok || odd(p) != "" || s.path == severalPaths && strings.ContainsAny(p, " ,;:'\"*?[]{}()$%") ||
			(s.everywhere || s.path == severalPaths) && !e.exists(p) {
			return []string{everything}
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return []string{everything}
	}
	return all
}

// listed returns the elements of an argument that may be a list, or the argument itself.
func listed(raw []byte, may bool) func(func([]byte) bool) {
	if may && rawjson.Kind(raw) == '[' {
		return func(yield func([]byte) bool) {
			for one := range rawjson.Elements(raw) {
				if !yield(one) {
					return
				}
			}
		}
	}
	return func(yield func([]byte) bool) { yield(raw) }
}

// exists reports whether there is something at a path from the working directory.
func (e *Event) exists(p string) bool {
	if !filepath.IsAbs(p) {
		p = filepath.Join(e.Folder, p)
	}
	_, err := os.Stat(p)
	return err == nil
}

// oddPath says why the host may find another file than Weir by the path of a call; "" if both find the same.
func (e *Event) oddPath() string {
	name, takes := e.Host.paths[e.Tool]
	raw, given := rawjson.Get(e.Input, name)
	if !takes || !given {
		return ""
	}
	p, ok := rawjson.String(raw)
	if !ok {
		return fmt.Sprintf("the path %s is no text", name)
	}
	if why := odd(p); why != "" {
		return why
	}
	if e.Tool == e.Host.finds && !filepath.IsAbs(p) && !e.exists(p) {
		return fmt.Sprintf("there is no file %+.80q, and the host may look for it elsewhere", p)
	}
	return ""
}

// odd says why a host may read a path otherwise than Weir, which joins it to the working directory; "" for plain
// paths.
func odd(p string) string {
	strange := func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.IsPrint(r) || r == '\\' && runtime.GOOS != "windows"
	}
	clean := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(p), "./"), "/")
	switch {
	case p == "" || strings.TrimSpace(p) != p || strings.ContainsAny(p[:1], "@~$%") || strings.ContainsFunc(p, strange),
		slices.Contains(strings.Split(clean, "/"), ".."), clean != "" && clean != filepath.ToSlash(filepath.Clean(clean)):
		return fmt.Sprintf("a host may read the path %+.80q in its own way", p)
	}
	return ""
}

// inside reports whether a pattern can match below its folder alone, whichever library reads it.
func inside(pattern string) bool {
	plain := alternatives.ReplaceAllString(pattern, "x")
	return belowOnly.MatchString(plain) && !strings.Contains(plain, "..")
}

var (
	alternatives = regexp.MustCompile(`\{[A-Za-z0-9_*-]+(,[A-Za-z0-9_*-]+)*\}`)
	belowOnly    = regexp.MustCompile(`^[\pL\pN_*?.-][\pL\pN_*?./-]*$`)
)
