//go:build linux

package attach

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/weir-mcp/weir/internal/owner"
)

// Key names the owner that a wrap with this parent, which hosts are, and with these variables may share: one of the
// same program, for the children of that very process, that has exactly these variables: no variable of one project
// counts in another. A parent is no proof of being started as a server of the host: a command of an agent that takes
// the place of a shell is a child of the host too, and so is the server of a repository's configuration. So what one
// wrap tells must lower nothing for another one, see guard.Memory. There is no key for the children of the first
// process, which orphans are too.
func Key(build owner.Build, parent int, inherited []string) (string, error) {
	if parent <= 1 {
		return "", errors.New("the parent is the first process of the system")
	}
	began, err := statField(parent, startField)
	if err != nil {
		return "", err
	}
	program, err := identity("/proc/self/exe")
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{program, build, parent, began, os.Getuid(), slices.Compact(slices.Sorted(slices.Values(inherited)))})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), err
}

// Check makes sure that the process at the other end is a wrap that the owner with a key is for. Inherited are the
// variables of the wrap of which the owner has its own.
func Check(conn *net.UnixConn, build owner.Build, key string, inherited []string) error {
	if err := sameKind(conn); err != nil {
		return err
	}
	pid, err := peer(conn)
	if err != nil {
		return err
	}
	text, err := statField(pid, parentField)
	if err != nil {
		return err
	}
	parent, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	theirs, err := Key(build, parent, inherited)
	if err == nil && theirs != key {
		err = errors.New("the wrap has another parent or other variables")
	}
	return err
}

// peer returns the process at the other end.
func peer(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// sameKind makes sure that the process at the other end is this program, and confined as this process is.
func sameKind(conn *net.UnixConn) error {
	pid, err := peer(conn)
	if err != nil {
		return err
	}
	theirs, err := kind(strconv.Itoa(pid))
	if err != nil {
		return err
	}
	own, err := kind("self")
	if err == nil && own != theirs {
		err = errors.New("the process at the socket is another program, or confined in another way")
	}
	return err
}

// confining are the fields of /proc/PID/status that say what a process may do.
var confining = []string{"Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "Seccomp_filters", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}

// kind describes the program of a process and its confinement: files, namespaces, filters of system calls,
// capabilities and the label of the security module.
func kind(pid string) (string, error) {
	dir := filepath.Join("/proc", pid)
	var all []string
	for _, name := range []string{"exe", "root", "ns/mnt", "ns/net", "ns/pid", "ns/user", "ns/ipc", "ns/uts"} {
		id, err := identity(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		all = append(all, id)
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(status)) {
		if name, _, _ := strings.Cut(line, ":"); slices.Contains(confining, name) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	if label, err := os.ReadFile(filepath.Join(dir, "attr", "current")); err == nil { // there may be no such module
		all = append(all, string(bytes.TrimRight(label, "\x00\n")))
	}
	return strings.Join(all, "\n"), nil
}

// identity tells files apart, also those behind the links of /proc that no path leads to.
func identity(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("%s: its file is not known", path)
	}
	return fmt.Sprint(s.Dev, ":", s.Ino), nil
}

// Fields of /proc/PID/stat, counted from the one after the name.
const (
	parentField = 1
	startField  = 19
)

// statField returns a field of /proc/PID/stat.
func statField(pid, field int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	all := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // the name may have anything in it
	if len(all) <= field {
		return "", fmt.Errorf("/proc/%d/stat: it has %d fields", pid, len(all))
	}
	return all[field], nil
}
