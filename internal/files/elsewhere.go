package files

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// errElsewhere says that nobody looked at a name.
var errElsewhere = errors.New("a look there may reach another machine")

// isElsewhere reports whether to look at an absolute path may reach another machine that the path names: a share of
// Windows, and a folder in which machines are mounted as they are named. A mounted file system is no such place, nor
// is the machine on which the user's home or the working directory is.
func isElsewhere(path string) bool { return reachNow().elsewhere(path) }

// A reach tells which paths name machines.
type reach struct {
	windows bool
	near    map[string]bool // machines in the form of machineOf
	mounts  []mounting
	asks    bool // a mounting of mounts asks for names
}

// A mounting is a place where a file system is mounted.
type mounting struct {
	at   string
	asks bool // it mounts another one at each name that is looked at
}

// reachNow returns the reach at the time of the first look. Later mounts below /net and /afs count as other machines.
var reachNow = sync.OnceValue(func() *reach {
	table, _ := os.ReadFile("/proc/self/mountinfo")
	dir, _ := os.Getwd()
	home := ""
	if u, err := user.Current(); err == nil {
		home = u.HomeDir
	}
	return newReach(runtime.GOOS == "windows", string(table), home, dir)
})

func newReach(windows bool, table string, near ...string) *reach {
	r := &reach{windows: windows, near: map[string]bool{}}
	for _, path := range near {
		if m := r.machineOf(path); m != "" {
			r.near[m], r.near["/"+strings.SplitN(m, "/", 3)[1]] = true, true
		}
	}
	for line := range strings.Lines(table) { // proc_pid_mountinfo(5)
		fields, system, ok := strings.Cut(line, " - ")
		names, about := strings.Fields(fields), strings.Fields(system)
		if !ok || len(names) < 5 || len(about) == 0 {
			continue
		}
		options := "," + about[len(about)-1] + ","
		m := mounting{unescape.Replace(names[4]), about[0] == "autofs" && strings.Contains(options, ",indirect,")}
		r.mounts, r.asks = append(r.mounts, m), r.asks || m.asks
	}
	return r
}

var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// elsewhere is isElsewhere.
func (r *reach) elsewhere(path string) bool {
	m := r.machineOf(path)
	switch {
	case m != "" && !r.near[m]:
		return r.windows || !r.isMounted(path)
	case m == "" && r.asks:
		return !r.isMounted(path)
	}
	return false
}

// isMounted reports whether a look at a path mounts nothing: the path is on the way to a file system that is mounted,
// or the innermost around it does not ask for names.
func (r *reach) isMounted(path string) bool {
	innermost := mounting{asks: r.machineOf(path) != ""}
	for _, m := range r.mounts {
		if within(m.at, path) {
			return true
		}
		if within(path, m.at) && len(m.at) >= len(innermost.at) && (r.machineOf(path) == "" || r.machineOf(m.at) == r.machineOf(path)) {
			innermost = m
		}
	}
	return !innermost.asks
}

// machineOf returns the beginning of a path that names a machine, in lower case and with slashes; "" if none does.
func (r *reach) machineOf(path string) string {
	if len(path) < 2 {
		return ""
	}
	if r.windows {
		if path = strings.ReplaceAll(path, `\`, "/"); !strings.HasPrefix(path, "//") {
			return ""
		}
		name, _, _ := strings.Cut(path[2:], "/")
		return "/share/" + strings.ToLower(name)
	}
	switch path[1] { // most paths are others
	case 'n', 'N', 'a', 'A':
	default:
		return ""
	}
	root, rest, _ := strings.Cut(path[1:], "/")
	if root = strings.ToLower(root); root != "net" && root != "afs" {
		return ""
	}
	name, _, _ := strings.Cut(rest, string(filepath.Separator))
	return strings.TrimSuffix("/"+root+"/"+strings.ToLower(name), "/")
}
