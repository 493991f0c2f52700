package files

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// within reports whether a path is a folder or below it.
func within(path, folder string) bool {
	if equalNames(path, folder) {
		return true
	}
	folder = strings.TrimSuffix(folder, sep) + sep
	return len(path) > len(folder) && equalNames(path[:len(folder)], folder)
}

const sep = string(filepath.Separator)

// foldsNames is whether file systems of this machine by custom take names that differ in case for one.
const foldsNames = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// equalNames compares paths as the machine's file systems do by custom.
func equalNames(a, b string) bool { return a == b || foldsNames && strings.EqualFold(a, b) }

// parents returns a path and the folders around it, the innermost first.
func parents(path string) (all []string) {
	for {
		all = append(all, path)
		up := filepath.Dir(path)
		if up == path {
			return all
		}
		path = up
	}
}

func appendNew(all []string, more ...string) []string {
	for _, s := range more {
		if s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// An owner is whose a file is.
type owner struct{ user, group int }
