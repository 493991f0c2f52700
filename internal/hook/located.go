package hook

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// look is [os.Stat] of a path that others chose, which does not look where nothing is known: on other
// machines, above all.
func look(known Ground, p string) (fs.FileInfo, error) {
	if known == nil || len(known.Locate(Server, p).Names) == 0 {
		return nil, fs.ErrInvalid
	}
	return os.Stat(p)
}

// Bounds of the files that a pattern stands for: how many are looked at one by one, and how many folders are read.
const (
	maxMatches = 64
	maxRead    = 512
)

// located returns the files that paths lead to from the folder of the event, each once. Where that may be any folder,
// a relative path may lead to any file. It is not ok if one may lead to another machine.
func (e *Event) located(known Ground, paths []string) (all []string, ok bool) {
	all = []string{}
	for _, p := range paths {
		if !strings.HasPrefix(p, "/") {
			p = e.Folder + "/" + p
			if e.isAnywhere() {
				p = "/"
			}
		}
		some := []string{p}
		if isPattern(p) {
			if some, ok = matches(known, p); !ok {
				return nil, false
			}
		}
		for _, p := range some {
			names := known.Locate(Server, p).Names
			if len(names) == 0 {
				return nil, false
			}
			if path.Clean(p) == strings.TrimSuffix(p, "/.") {
				names = append(names, path.Clean(p)) // a link may tell more by its name
			}
			all = append(all, names...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), true
}

func isPattern(p string) bool { return strings.ContainsAny(p, "*?") }

// matches returns the files that an absolute pattern stands for: itself if there is none, and the root, which stands
// for all, if there are too many, or names and quoted signs that are like patterns. It is not ok if one may be on
// another machine, at which it does not look.
func matches(known Ground, pattern string) (some []string, ok bool) {
	if strings.ContainsAny(pattern, `[\`) {
		return []string{"/"}, true
	}
	at, read := []string{""}, 0
	for name := range strings.SplitSeq(pattern[1:], "/") {
		var next []string
		for _, dir := range at {
			if len(known.Locate(Server, dir+"/").Names) == 0 {
				return nil, false
			}
			if !isPattern(name) {
				next = append(next, dir+"/"+name)
				continue
			}
			if read++; read > maxRead {
				return []string{"/"}, true
			}
			entries, _ := os.ReadDir(dir + "/")
			for _, entry := range entries {
				if fits, err := filepath.Match(name, entry.Name()); err == nil && fits {
					next = append(next, dir+"/"+entry.Name())
				}
			}
		}
		at = next
	}
	at = slices.DeleteFunc(at, func(p string) bool {
		_, err := look(known, p)
		return err != nil && len(known.Locate(Server, p).Names) > 0
	})
	switch {
	case len(at) == 0:
		return []string{pattern}, true
	case len(at) > maxMatches || slices.ContainsFunc(at, isPattern):
		return []string{"/"}, true
	}
	return at, true
}
