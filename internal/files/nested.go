package files

import (
	"io"
	"os"
)

// maxNested is how many names are looked at for repositories inside a work tree.
const maxNested = 16 << 10

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
