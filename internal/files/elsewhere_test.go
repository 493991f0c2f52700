package files

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestElsewhere are paths of which a look may reach another machine, and others.
func TestElsewhere(t *testing.T) {
	const table = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:30 / /net rw shared:2 - autofs -hosts rw,fd=7,pgrp=1,timeout=300,minproto=5,maxproto=5,indirect,pipe_ino=1
31 30 0:31 /export /net/known/export rw - nfs4 known:/export rw
32 22 0:32 / /home rw - autofs auto.home rw,fd=8,indirect,pipe_ino=2
33 32 0:33 / /home/ann\040b rw - nfs4 files:/ann rw
34 22 0:34 / /boot rw - autofs systemd-1 rw,fd=9,direct,pipe_ino=3
`
	unix, windows := newReach(false, table, "/home/ann b", "/afs/own.example/user"), newReach(true, "", `\\Files\home\ann`)
	for path, elsewhere := range map[string]bool{
		"/": false, "/net": false, "/net/evil.example": true, "/net/evil.example/x": true, "/NET/evil.example": true, "/net/known": false, "/net/known/export/x": false,
		"/net/known/other": true, "/nets/x": false, "/home": false, "/home/ann b": false, "/home/ann b/x": false, "/home/ann": true, "/home/bob/x": true, "/boot/x": false,
		"/afs": false, "/afs/own.example/other": false, "/afs/evil.example": true, "/tmp/net/evil.example": false, "": false, "/n": false,
	} {
		if got := unix.elsewhere(path); got != elsewhere {
			t.Errorf("%q: %v", path, got)
		}
	}
	for path, elsewhere := range map[string]bool{
		`C:\x`: false, `\\evil.example\s\x`: true, `//evil.example/s`: true, `\/evil.example`: true, `\\?\UNC\evil.example\s`: true, `\\.\pipe\x`: true, `\\FILES\other`: false,
		`\x`: false, `\net\x`: false,
	} {
		if got := windows.elsewhere(path); got != elsewhere {
			t.Errorf("%q: %v", path, got)
		}
	}
	if plain := newReach(false, "", "/home/ann"); !plain.elsewhere("/net/x") || !plain.elsewhere("/afs/x/y") || plain.elsewhere("/home/bob") {
		t.Error("without a table of mounts, the names count")
	}
}

// TestFollowElsewhere holds that a path is not followed to another machine, whichever way it takes there.
func TestFollowElsewhere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the folder is one of Unix")
	}
	dir := t.TempDir()
	for name, to := range map[string]string{"top": "/", "deep": "top/net/evil.example", "up": "../../../../../../../../net/evil.example/x"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, far := range map[string]bool{
		"/net/evil.example/x": true, dir + "/top/net/evil.example": true, dir + "/deep/x/y": true, dir + "/up": true, dir + "/top/tmp/../net/evil.example": true,
		dir + "/top/tmp": false, dir + "/none/net/evil.example": false,
	} {
		d := &disk{}
		if d.follow("/proc/self/root" + path); len(d.seen) > 1 {
			t.Errorf("looks at %v", d.seen)
		}
		if e := d.follow(path); e.far != far {
			t.Errorf("%q: %+v", path, e)
		}
		for name, seen := range d.seen {
			if machine := reachNow().machineOf(name); machine > "/net/" && !errors.Is(seen.err, errElsewhere) {
				t.Errorf("%q: a look at %q", path, name)
			}
		}
		if n := d.stat(dir + "/up"); n.kind != none {
			t.Errorf("a look at %+v", n)
		}
	}
	var g Ground
	if at := g.Locate("", dir+"/deep/x"); len(at.Names) > 0 {
		t.Errorf("%+v", at)
	}
}
