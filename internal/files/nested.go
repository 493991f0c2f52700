package files

import (
	"io"
	"os"
)

// maxNested is how many names are looked at for repositories inside a work tree.
const maxNested = 16 << 10

// Enters returns a program that git may start if what is at a path is in its index, by the settings and hooks of a
// repository there or below; "" if none is found. With whole it is all of the work trees around the path. It is sure
// that there are no others unless there are too many names to look at.
func (g *Ground) Enters(server, path string, whole bool) (program string, sure bool) {
	left := maxNested
	for _, name := range g.Locate(server, path).Names {
		if whole {
			for _, at := range parents(name) {
				if _, err := os.Lstat(at + sep + ".git"); err == nil {
					name = at // the outermost, since git passes some by
				}
			}
		}
		if program, left = nested(name, left); program != "" || left < 0 {
			return program, false
		}
		sure = true
	}
	return "", sure
}

// nested returns a program of a repository in a folder, and how many more names may be looked at; below zero if there
// are more in it, or one cannot be read.
func nested(root string, left int) (program string, rest int) {
	if info, err := os.Lstat(root); err != nil && isMissing(err) || err == nil && !info.IsDir() {
		return "", left // a file names no repository
	}
	for folders := []string{root}; len(folders) > 0; {
		at := folders[len(folders)-1]
		folders = folders[:len(folders)-1]
		if program := unusual(at); program != "" {
			return program, left
		}
		folder, err := os.Open(at)
		if err != nil {
			return "", -1
		}
		all, err := folder.ReadDir(left + 1)
		folder.Close()
		if left -= len(all); left < 0 || err != nil && err != io.EOF {
			return "", -1
		}
		for _, e := range all {
			if e.IsDir() && e.Name() != ".git" {
				folders = append(folders, at+sep+e.Name())
			}
		}
	}
	return "", left
}
