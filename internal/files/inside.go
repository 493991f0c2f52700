package files

import (
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// maxInside is how many names below a folder are looked at for files of other authors.
const maxInside = 16 << 10

// A search looks below a folder for files of other authors.
type search struct {
	ground  *Ground
	root    string
	skipped func(name string) bool
	left    int      // names that may still be looked at
	folders []string // to look into
	linked  []string // roots of these beside the first, to which links lead
}

// run returns the first one, and why it is one. It looks at the upper folders first, where most are.
func (s *search) run() (at, why string) {
	if info, err := os.Lstat(s.root); err != nil && isMissing(err) || err == nil && !info.IsDir() {
		return "", ""
	}
	for s.folders = []string{s.root}; len(s.folders) > 0; {
		dir := s.folders[0]
		s.folders = s.folders[1:]
		all, err := s.read(dir)
		if err != nil || s.left < 0 {
			return s.root, "there is too much in it to look at, or some of it cannot be read"
		}
		if dir != s.root && slices.ContainsFunc(all, isRepository) {
			if why := s.ground.foreign(dir); why != "" {
				return dir, why
			}
		}
		for _, e := range all {
			if s.skipped != nil && (e.IsDir() || e.Name()[0] == '.') && s.skipped(e.Name()) { // a link may have the name of a folder
				continue
			}
			if at, why := s.look(strings.TrimSuffix(dir, sep)+sep+e.Name(), e); why != "" {
				return at, why
			}
		}
	}
	return "", ""
}

func (s *search) read(dir string) ([]fs.DirEntry, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	all, err := folder.ReadDir(s.left + 1)
	if s.left -= len(all); err == io.EOF {
		err = nil
	}
	return all, err
}

// look takes one name below the folder.
func (s *search) look(path string, e fs.DirEntry) (at, why string) {
	at = path
	isLink := e.Type()&^fs.ModePerm != 0 && !e.IsDir()
	if isLink {
		to := follow(path)
		if at = to.path; to.blind || to.far {
			return path, "where a link in it leads is not known"
		}
	}
	if isLink || slices.Contains(foreignFolders, strings.ToLower(e.Name())) {
		if why := s.ground.foreign(at); why != "" {
			return at, why
		}
	}
	switch {
	case e.IsDir():
		s.folders = append(s.folders, at)
	case isLink && !slices.ContainsFunc(append(s.linked, s.root), func(root string) bool { return within(at, root) }):
		if info, err := os.Lstat(at); err == nil && info.IsDir() {
			s.linked, s.folders = append(s.linked, at), append(s.folders, at)
		}
	}
	return at, ""
}

// isRepository reports whether a name is one by which the root of a work tree is known.
func isRepository(e fs.DirEntry) bool { return e.Name() == ".git" || slices.Contains(others, e.Name()) }
