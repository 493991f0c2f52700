package files_test

import (
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/files"
)

// TestInside makes folders at random, and holds that one counts as the user's own exactly if all that lies below it
// does.
func TestInside(t *testing.T) {
	const remote = "[remote \"origin\"]\n\turl = https://example.org/x.git\n"
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		w := newWorld(t)
		w.write("stray/a.txt", "")
		dirs := []string{"code"}
		for range 6 {
			dir := dirs[rnd.IntN(len(dirs))] + "/" + []string{"a", "b", "c", "Vendor", "tmp", ".hidden"}[rnd.IntN(6)*rnd.IntN(2)]
			dirs = append(dirs, dir)
			w.write(dir+"/a.txt", "")
		}
		switch at := w.home + "/" + dirs[rnd.IntN(len(dirs))]; rnd.IntN(6) {
		case 0:
			w.write(strings.TrimPrefix(at, w.home+"/")+"/r/.git/config", remote)
		case 1:
			w.link(strings.TrimPrefix(at, w.home+"/")+"/l", w.home+"/stray")
		case 2:
			w.link(strings.TrimPrefix(at, w.home+"/")+"/l", at)
		}
		ground := files.New(files.Options{Home: w.home, Folders: []string{w.home + "/code"},
			Servers: map[string]files.Server{"fs": {Command: []string{"server"}, Dir: w.home}}})
		for _, dir := range dirs {
			dir = w.home + "/" + dir
			want := false
			err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
				want = want || ground.Foreign("fs", p) != ""
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if ground.Foreign("fs", dir) == "" && (ground.Inside("fs", dir, nil) != "") != want {
				t.Errorf("%s: %q, want foreign: %v", dir, ground.Inside("fs", dir, nil), want)
			}
		}
	}
}

// TestInsideSkips holds which names count.
func TestInsideSkips(t *testing.T) {
	w := newWorld(t)
	w.write("code/a/.git/config", "[core]\n")
	w.write("code/b/.git/config", "[remote \"origin\"]\n\turl = https://example.org/x.git\n")
	w.write("code/c/file", "")
	w.write("other/d/vendor/x.go", "")
	w.write("code/e/a", "")
	w.write("code/f/a", "")
	w.link("code/e/l", w.home+"/other/d")
	w.link("code/f/l", w.home+"/code/f")
	ground := files.New(files.Options{Home: w.home, Folders: []string{w.home + "/code", w.home + "/other"},
		Servers: map[string]files.Server{"fs": {Command: []string{"server"}, Dir: w.home}}})
	git := func(name string) bool { return name == ".git" }
	for _, c := range []struct {
		path    string
		skipped func(string) bool
		foreign bool
	}{
		{"code/a", nil, true}, {"code/a", git, false}, {"code", git, true}, {"code/c", nil, false}, {"code/c/file", nil, false}, {"code/none", nil, false},
		{"code/e", nil, true}, {"code/f", nil, false},
	} {
		if why := ground.Inside("fs", w.home+"/"+c.path, c.skipped); (why != "") != c.foreign {
			t.Errorf("%s: %q, want foreign: %v", c.path, why, c.foreign)
		}
	}
}
