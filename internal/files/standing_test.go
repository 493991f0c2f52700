package files

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestStanding changes names on the way to Weir's own files: whenever a change has returned, they are where a new look
// finds them.
func TestStanding(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		root := filepath.Join(dir, fmt.Sprint(round), "home")
		opts := Options{Own: []string{root + "/proj/weir.yaml", root + "/s/weir", root + "/proj/weir.lock"}}
		g := New(opts)
		check := func(change string) {
			got, want := g.standing(), New(opts).standing()
			for i := range want.own {
				want.own[i].ownName = got.own[i].ownName
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("after %s: own files at %+v, want %+v", change, got, want)
			}
		}
		for _, err := range []error{
			os.MkdirAll(root+"/proj", 0o700), os.MkdirAll(root+"/state/weir", 0o700), os.Symlink("state", root+"/s"), os.WriteFile(root+"/proj/weir.yaml", nil, 0o600),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 4 {
			check("nothing")
		}
		names := []string{"proj", "proj/weir.yaml", "proj/weir.lock", "s", "state", "state/weir", "other", "other/weir.yaml", "other/weir"}
		path := func() string { return filepath.Join(root, rapid.SampledFrom(names).Draw(t, "name")) }
		for range 6 {
			from, to := path(), path()
			switch op := rapid.SampledFrom([]string{"mkdir", "write", "link", "hard link", "rename", "remove"}).Draw(t, "change"); op {
			case "mkdir":
				check(fmt.Sprint(op, from, os.MkdirAll(from, 0o700)))
			case "write":
				check(fmt.Sprint(op, from, os.WriteFile(from, nil, 0o600)))
			case "link":
				check(fmt.Sprint(op, from, to, os.Symlink(to, from)))
			case "hard link":
				check(fmt.Sprint(op, from, to, os.Link(from, to)))
			case "rename":
				check(fmt.Sprint(op, from, to, os.Rename(from, to)))
			case "remove":
				check(fmt.Sprint(op, from, os.RemoveAll(from)))
			}
		}
	})
}
