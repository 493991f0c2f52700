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

// Secure checks that only the user, or root, can change a path, as sshd does for its keys (sshd_config, StrictModes):
// the file, the folders on the way to it, and those on the way to the target of a link. A missing file is not insecure.
// The error is an [*Insecure].
//
// A folder in which only owners may remove their files, such as /tmp, counts as closed to others. So do a path that a
// group may write whose only member is the user, and a path on a read-only mount. Root may read files of others: in a
// container it reads those of the user who runs it.
func Secure(path string) error {
	seen := map[string]bool{}
	for _, way := range [][]string{parents(follow(path).path), parents(filepath.Clean(path))} {
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

// insecure returns why others may change a path; nil if they may not.
func insecure(path string, info fs.FileInfo) error {
	who, ok := ownerOf(info)
	if !ok || readOnly(path) {
		return nil
	}
	me := os.Geteuid()
	if who.user != 0 && who.user != me && me != 0 {
		return &Insecure{path, fmt.Sprintf("it belongs to another user, %d", who.user), fmt.Sprintf("chown %d %q, or keep the file elsewhere", me, path)}
	}
	mode := info.Mode()
	if mode.IsDir() && mode&fs.ModeSticky != 0 {
		return nil
	}
	if othersWrite(who, mode, me) {
		return &Insecure{path, fmt.Sprintf("others may write it: its mode is %s", mode), fmt.Sprintf("chmod go-w %q", path)}
	}
	return nil
}

// othersWrite reports whether others than root and a user may write a file or folder. By custom a group with the number
// of its owner, or of the user, has that one as its only member. Clusters mount volumes as root's with such a group.
func othersWrite(who owner, mode fs.FileMode, me int) bool {
	private := who.group == 0 || who.group == who.user || who.group == me
	return mode.Perm()&0o002 != 0 || mode.Perm()&0o020 != 0 && !private
}
