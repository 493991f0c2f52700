package lasting

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// A sight is a look at a name, and how often it was taken.
type sight struct {
	name    string
	matters Aspect
	taken   int
	kept    Kept[string]
}

// look returns which files are at the name and at the folders on the way to it.
func (s *sight) look() (outcome string, names Names) {
	s.taken++
	names = Names{}
	for i := 1; i <= len(s.name); i++ {
		if i < len(s.name) && s.name[i] != '/' {
			continue
		}
		var st syscall.Stat_t
		err := syscall.Lstat(s.name[:i], &st)
		outcome += fmt.Sprint(st.Dev, ":", st.Ino, ":", st.Mode&syscall.S_IFMT, ":", err, " ")
		names[s.name[:i]] = File
		if err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFLNK {
			break // which is looked at, and not followed
		}
		if i < len(s.name) {
			continue
		}
		names[s.name] = s.matters
		if s.matters >= Mode {
			outcome += fmt.Sprintf("%o ", st.Mode)
		}
		if s.matters == Length && st.Mode&syscall.S_IFMT == syscall.S_IFREG {
			outcome += fmt.Sprint(st.Size)
		}
	}
	return outcome, names
}

// check compares the kept outcome with one of now.
func (s *sight) check(t rapid.TB, after string) {
	t.Helper()
	got := s.kept.Get(s.look)
	if now, _ := s.look(); got != now {
		t.Fatalf("after %s, %s is\n%s, and was kept as\n%s", after, s.name, now, got)
	}
}

// temp returns a folder whose path leads through no link. Names below it are kept, if the system tells of them.
func temp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for up := dir; ; up = filepath.Dir(up) {
		var fs syscall.Statfs_t
		if err := syscall.Statfs(up, &fs); err != nil || local[uint32(fs.Type)] == "" || syscall.Access(up, 4) != nil {
			t.Skipf("%s: nobody tells of changes there", up)
		}
		if up == "/" {
			return dir
		}
	}
}

// TestKept makes changes of all kinds to names on the way and beside it: whenever one has returned, it counts.
func TestKept(t *testing.T) {
	dir := temp(t)
	names := []string{"a", "a/b", "a/b/c", "a/b/c", "x", "x/b", "x/b/c", "a/x", "A"}
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		root := filepath.Join(dir, fmt.Sprint(round), "root")
		if err := os.MkdirAll(root+"/a/b", 0o700); err != nil {
			t.Fatal(err)
		}
		s := sight{name: root + "/a/b/c", matters: rapid.SampledFrom([]Aspect{File, Mode, Length}).Draw(t, "what matters")}
		path := func() string { return filepath.Join(root, rapid.SampledFrom(names).Draw(t, "name")) }
		for range once + 2 {
			s.check(t, "nothing")
		}
		one := func() string {
			from, to := path(), path()
			switch op := rapid.SampledFrom([]string{"mkdir", "write", "link", "hard link", "rename", "swap", "remove", "away", "chmod", "cut"}).Draw(t, "change"); op {
			case "mkdir":
				return fmt.Sprint(op, from, os.MkdirAll(from, 0o700))
			case "write":
				return fmt.Sprint(op, from, os.WriteFile(from, []byte(to), 0o600))
			case "chmod":
				return fmt.Sprint(op, from, os.Chmod(from, 0o700), os.Chmod(from, 0o777))
			case "cut":
				return fmt.Sprint(op, from, os.Truncate(from, int64(len(to))))
			case "link":
				return fmt.Sprint(op, from, to, os.Symlink(to, from))
			case "hard link":
				return fmt.Sprint(op, from, to, os.Link(from, to))
			case "rename":
				return fmt.Sprint(op, from, to, os.Rename(from, to))
			case "swap":
				err := os.Rename(from, root+"/aside")
				return fmt.Sprint(op, from, to, err, os.Rename(to, from), os.Rename(root+"/aside", to))
			case "remove":
				return fmt.Sprint(op, from, os.RemoveAll(from))
			default: // a folder further up
				return fmt.Sprint(op, os.Rename(root, root+"2"), os.Mkdir(root, 0o700))
			}
		}
		for range 8 {
			change := one()
			s.check(t, change)
		}
	})
}

// TestKeptByMany asks from several goroutines while names change.
func TestKeptByMany(t *testing.T) {
	dir := temp(t)
	name := dir + "/a/b"
	look := func() (string, Names) {
		text, err := os.ReadFile(name)
		return fmt.Sprint(string(text), err), Names{name: File}
	}
	for i, v := range []string{"one", "two"} {
		d := filepath.Join(dir, []string{"a", "other"}[i])
		if err := errors.Join(os.Mkdir(d, 0o700), os.WriteFile(d+"/b", []byte(v), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var kept Kept[string]
	var asking sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		asking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					kept.Get(look)
				}
			}
		})
	}
	for i := range 60 {
		err := errors.Join(os.Rename(dir+"/a", dir+"/aside"), os.Rename(dir+"/other", dir+"/a"), os.Rename(dir+"/aside", dir+"/other"))
		if got, now := kept.Get(look), []string{"two<nil>", "one<nil>"}[i%2]; got != now || err != nil {
			t.Errorf("after %d changes (%v): %s, want %s", i+1, err, got, now)
			break
		}
	}
	close(done)
	asking.Wait()
}

// TestKeptWithoutLooks holds that names which stand are not looked at, whatever happens beside them.
func TestKeptWithoutLooks(t *testing.T) {
	dir := temp(t)
	s := sight{name: dir + "/here/missing/name"}
	beside := func() {
		for _, err := range []error{os.WriteFile(dir+"/here/file", nil, 0o600), os.Rename(dir+"/here/file", dir+"/here/other"), os.Mkdir(dir+"/folder", 0o700), os.Remove(dir + "/folder")} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(dir+"/here", 0o700); err != nil {
		t.Fatal(err)
	}
	for range once + 1 {
		s.kept.Get(s.look)
	}
	before := s.taken
	for range 5 {
		beside()
		s.kept.Get(s.look)
	}
	if s.taken != before {
		t.Errorf("%d looks at names that stood", s.taken-before)
	}
	if err := os.Mkdir(dir+"/here/missing", 0o700); err != nil {
		t.Fatal(err)
	}
	if s.kept.Get(s.look); s.taken == before {
		t.Error("no look at a name that came")
	}
}

// TestNeverKept gives up names that nobody tells of.
func TestNeverKept(t *testing.T) {
	for name, look := range map[string]func() (int, Names){
		"processes": func() (int, Names) { return 1, Names{"/proc/self/status": File} },
		"not plain": func() (int, Names) { return 1, Names{"/tmp/../tmp": File} },
		"relative":  func() (int, Names) { return 1, Names{"tmp": File} },
	} {
		var k Kept[int]
		looks := 0
		for range 2 * most {
			before := looks
			if got := k.Get(func() (int, Names) { looks++; return look() }); got != 1 || looks == before {
				t.Fatalf("%s: %d after %d looks", name, got, looks)
			}
		}
		if k.holds || k.system != nil {
			t.Errorf("%s: more attempts", name)
		}
	}
}

// TestEvents gives events one by one.
func TestEvents(t *testing.T) {
	s := system{folders: map[int32]map[string]bool{1: {"weir.yaml": true}, 2: {"bücher": true}}}
	for _, c := range []struct {
		wd      int32
		mask    uint32
		name    string
		matters bool
	}{
		{1, syscall.IN_CREATE, "weir.yaml", true}, {1, syscall.IN_MOVED_TO, "Weir.YAML", true}, {1, syscall.IN_DELETE, "wei\u0280.yaml", true},
		{1, syscall.IN_CREATE, "other", false}, {1, syscall.IN_CREATE | syscall.IN_ISDIR, "weir.yaml", true},
		{1, syscall.IN_IGNORED, "", true}, {1, syscall.IN_UNMOUNT, "", true}, {1, syscall.IN_DELETE_SELF, "", true}, {1, syscall.IN_MOVE_SELF, "", true},
		{2, syscall.IN_CREATE, "other", true}, {3, syscall.IN_CREATE, "weir.yaml", false}, {3, syscall.IN_IGNORED, "", false},
		{-1, syscall.IN_Q_OVERFLOW, "", true},
	} {
		if got := s.matters(c.wd, c.mask, c.name); got != c.matters {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// mountsName is the variable by which the test starts itself among mounts of its own.
const mountsName = "LASTING_TEST_MOUNTS"

// TestMounts mounts over the folders on the way to a name, in a process with mounts of its own.
func TestMounts(t *testing.T) {
	if dir := os.Getenv(mountsName); dir != "" {
		amongMounts(t, dir)
		return
	}
	dir := temp(t)
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestMounts$")
	cmd.Env = append(os.Environ(), mountsName+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Skipf("no mounts of its own here: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v: %s", err, out)
	}
}

func amongMounts(t *testing.T, dir string) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(dir+"/a/b", 0o700))
	must(os.MkdirAll(dir+"/other/b", 0o700))
	must(os.WriteFile(dir+"/a/b/c", nil, 0o600))
	must(os.WriteFile(dir+"/other/b/c", nil, 0o600))
	s := sight{name: dir + "/a/b/c"}
	for range once + 1 {
		s.check(t, "nothing")
	}
	if err := syscall.Mount("tmpfs", dir+"/a", "tmpfs", 0, ""); err != nil {
		fmt.Println("PASS: mounts are not allowed:", err)
		return
	}
	s.check(t, "a mount of an empty file system")
	must(os.MkdirAll(dir+"/a/b", 0o700))
	s.check(t, "a folder in it")
	must(os.WriteFile(dir+"/a/b/c", nil, 0o600))
	s.check(t, "a file in it")
	s.check(t, "nothing")
	must(syscall.Unmount(dir+"/a", syscall.MNT_DETACH))
	s.check(t, "its end")
	for _, name := range []string{"/a/b/c", "/a/b", "/a"} {
		must(syscall.Mount(dir+"/other"+strings.TrimPrefix(name, "/a"), dir+name, "", syscall.MS_BIND, ""))
		s.check(t, "a mount of "+name)
		s.check(t, "nothing")
	}
	must(os.Rename(dir+"/other/b", dir+"/other/gone"))
	s.check(t, "a rename at the other name of a mount")
	must(syscall.Mount(dir+"/a", dir+"/other", "", syscall.MS_MOVE, ""))
	s.check(t, "a mount that moved away")
	must(syscall.Unmount(dir+"/a/b", 0))
	s.check(t, "the end of the next")
	must(syscall.Unmount(dir+"/a/b/c", 0))
	s.check(t, "the end of the last")
}
