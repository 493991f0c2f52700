package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A site is where a server works, as far as its command line tells.
type site struct {
	here   bool     // it sees this machine's files under their own names
	bases  []string // the folders that relative paths may be relative to, as the server names them
	mounts []mount  // the parts of this machine that a container sees
}

// A mount is a folder of this machine and its name in a container.
type mount struct{ from, to string }

// containers are programs that run others where files have other names.
var containers = []string{"docker", "podman", "nerdctl", "container", "finch", "lima", "limactl", "ssh", "wsl", "kubectl", "oc", "flatpak",
	"distrobox", "toolbox", "bwrap", "firejail", "chroot", "unshare", "nsenter", "systemd-nspawn", "lxc", "incus", "apptainer", "singularity",
	"multipass", "vagrant", "devcontainer", "orb"}

// newSite reads the command line of a server; otherwise is the working directory of one that has none of its own.
func newSite(s Server, otherwise string) site {
	if len(s.Command) == 0 {
		return site{}
	}
	dir := s.Dir
	if dir == "" {
		dir = otherwise
	}
	called := strings.TrimSuffix(strings.ToLower(filepath.Base(s.Command[0])), ".exe")
	if slices.Contains(containers, called) {
		return contained(s.Command[1:], dir)
	}
	here := site{here: true, bases: appendNew(nil, dir)}
	for _, a := range s.Command[1:] {
		if _, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(a, "-") {
			a = value
		}
		if !filepath.IsAbs(a) && (dir == "" || !strings.ContainsAny(a, `/\.`)) {
			continue
		}
		if info, err := os.Stat(absolute(a, dir)); err == nil && info.IsDir() {
			here.bases = appendNew(here.bases, filepath.Clean(absolute(a, dir)))
		}
	}
	return here
}

// absolute makes a path absolute by a base.
func absolute(path, base string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return base + sep + path
}

// contained reads the arguments of a program that runs containers: their mounts, and the working directory there.
func contained(args []string, dir string) site {
	var s site
	for i, a := range args {
		name, value, given := strings.Cut(a, "=")
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "-v", "--volume":
			from, rest, ok := strings.Cut(value, ":")
			if to, _, _ := strings.Cut(rest, ":"); ok {
				s.mount(from, to, dir)
			}
		case "--mount":
			fields := map[string]string{}
			for part := range strings.SplitSeq(value, ",") {
				k, v, _ := strings.Cut(part, "=")
				fields[k] = v
			}
			s.mount(fields["source"]+fields["src"], fields["target"]+fields["dst"]+fields["destination"], dir)
		case "-w", "--workdir":
			s.bases = appendNew(s.bases, value)
		}
	}
	return s
}

// mount adds a folder of this machine; a volume of another kind has a name, and no path.
func (s *site) mount(from, to, dir string) {
	if strings.HasPrefix(from, ".") && dir != "" {
		from = filepath.Join(dir, from)
	}
	if filepath.IsAbs(from) && strings.HasPrefix(to, "/") {
		s.mounts = append(s.mounts, mount{filepath.Clean(from), strings.TrimSuffix(to, "/")})
	}
}

// hosts returns the names on this machine of an absolute path of the server; none if it is not here.
func (s site) hosts(path string) (names []string) {
	if s.here {
		return []string{path}
	}
	for _, m := range s.mounts {
		if clean := filepath.ToSlash(filepath.Clean(path)); clean == m.to || strings.HasPrefix(clean, m.to+"/") {
			names = appendNew(names, m.from+filepath.FromSlash(clean[len(m.to):]))
		}
	}
	return names
}

// A Server is where a server works.
type Server struct {
	Command []string // nil: it is reached over a network
	Dir     string   // its working directory; "" is that of the options
	Far     bool     // it is on another machine
}
