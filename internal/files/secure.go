package files

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// An Insecure file is one that others than its user can change, or put another in the place of.
type Insecure struct {
	Path string // the file, or a folder on the way to it
	Why  string
	Fix  string // a command
}

// Error implements error.
func (e *Insecure) Error() string { return e.Path + ": " + e.Why }

// Secure looks whether only the user, or root, can change what is at a path, as sshd does for its keys (sshd_config, StrictModes):
// the file, the folders on the way to it, and those on the way to where a link leads. What is not there is not insecure. The error is
// an [*Insecure].
//
// A folder in which only owners may remove what is theirs, such as /tmp, is as good as one that is closed. So is what the group may
// write that has no member but the user, and what nobody can write since it is mounted so. Root may read what belongs to others: in a
// container it reads files of whoever runs it.
func Secure(path string) error {
	seen := map[string]bool{}
	for _, way := range [][]string{parents(follow(path, "").path), parents(filepath.Clean(path))} {
		for _, p := range way {
			if seen[p] {
				continue
			}
			seen[p] = true
			info, err := os.Stat(p)
			if err != nil {
				continue
			}
			if err := insecure(p, info); err != nil {
				return err
			}
		}
	}
	return nil
}

// insecure says why others may change what is at a path; nil if they may not.
func insecure(path string, info fs.FileInfo) error {
	who, ok := ownerOf(info)
	if !ok || readOnly(path) {
		return nil
	}
	if me := os.Geteuid(); who.user != 0 && who.user != me && me != 0 {
		return &Insecure{path, fmt.Sprintf("it belongs to another user, %d", who.user), fmt.Sprintf("chown %d %q, or keep the file elsewhere", me, path)}
	}
	mode := info.Mode()
	if mode.IsDir() && mode&fs.ModeSticky != 0 {
		return nil
	}
	private := who.group == who.user && who.user != 0 // a group of the user's own, by custom
	if mode.Perm()&0o002 != 0 || mode.Perm()&0o020 != 0 && !private && who.group != 0 {
		return &Insecure{path, fmt.Sprintf("others may write it: its mode is %s", mode), fmt.Sprintf("chmod go-w %q", path)}
	}
	return nil
}
