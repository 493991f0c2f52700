package files

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// foreignFolders are names of folders below the user's own work that hold files of other authors: dependencies,
// downloads, build results, caches, temporary files, and version control's copies. In lower case.
var foreignFolders = []string{
	"node_modules", "bower_components", "jspm_packages", "vendor", "third_party", "third-party", "thirdparty", "external", "deps",
	"site-packages", "dist-packages", ".venv", "venv", ".virtualenv", "virtualenv", ".tox", ".nox", ".eggs", "__pypackages__", ".pixi",
	"target", "build", "dist", "out", ".next", ".nuxt", ".output", "bazel-out", "_build", "obj",
	".gradle", ".m2", ".ivy2", ".cargo", ".rustup", ".stack", ".cabal", ".gem", ".bundle", ".npm", ".yarn", ".pnpm-store", ".pnp", ".nuget",
	".pub-cache", ".dart_tool", ".terraform", ".serverless", "pods", "carthage", ".build", "elm-stuff", "_deps", "vcpkg_installed",
	".cache", "cache", "caches", "__pycache__", "tmp", "temp", ".tmp", ".temp", "downloads", "download", "attachments", "inbox", "incoming",
	"quarantine", "trash", ".trash", ".git", ".hg", ".svn", ".jj", ".bzr", "_darcs",
}

// Foreign returns why a file may hold untrusted content; "" if it is the user's own work. The user's own work is below
// a folder that the operator declares or the user has confirmed, without dependencies, downloads, caches and temporary
// folders there, and without unconfirmed clones.
func (g *Ground) Foreign(server, path string) string {
	p := g.Locate(server, path)
	if len(p.Names) == 0 {
		return "where it is on this machine is not known"
	}
	for _, name := range p.Names {
		if why := g.foreign(name); why != "" {
			g.tell(name, why)
			return why
		}
	}
	return ""
}

// Inside says why a file below a folder may hold untrusted content; "" if all of it is the user's own work, or if
// there is no such folder. Of folders and files with a name that is skipped nothing counts; nil: none is. It follows
// links, and where there is too much to look at, anything may be there.
func (g *Ground) Inside(server, path string, skipped func(name string) bool) string {
	for _, name := range g.Locate(server, path).Names {
		s := search{ground: g, root: name, skipped: skipped, left: maxInside}
		if at, why := s.run(); why != "" {
			g.tell(at, why)
			return why
		}
	}
	return ""
}

// maxTold is of how many folders is told.
const maxTold = 256

// tell reports an untrusted folder once; of a clone it reports the root.
func (g *Ground) tell(path, why string) {
	folder, ok := repositoryOf(path)
	if !ok {
		folder = filepath.Dir(path)
	}
	g.mu.Lock()
	fresh := !g.told[folder] && len(g.told) < maxTold
	if fresh {
		g.told[folder] = true
	}
	g.mu.Unlock()
	if fresh && g.opts.Strange != nil {
		g.opts.Strange(folder, why)
	}
}

// foreign is Foreign for an absolute path without links.
func (g *Ground) foreign(path string) string {
	folder, declared, known := g.ownFolder(path)
	if folder == "" {
		return "it is in no folder of your own"
	}
	if folder != path {
		for name := range strings.SplitSeq(strings.ToLower(path[len(folder):]), sep) {
			if slices.Contains(foreignFolders, name) {
				return fmt.Sprintf("it is in a folder called %s", name)
			}
		}
	}
	for at := path; ; {
		root, ok := repositoryOf(at)
		if !ok || len(root) < len(folder) {
			return ""
		}
		remotes := remotesOf(root)
		mine := equalNames(root, folder) && (declared || slices.Equal(known, remotes))
		if len(remotes) > 0 && !mine {
			return fmt.Sprintf("it is in a clone of %s", strings.Join(remotes, ", "))
		}
		at = filepath.Dir(root) // a repository without remotes may lie in an untrusted one
		if at == root {
			return ""
		}
	}
}

// Cloned says of which remotes a file that was found lies in a clone that no person has confirmed; "" if in none.
func (g *Ground) Cloned(path string) string {
	e := follow(path)
	if e.far {
		return ""
	}
	for at := e.path; ; {
		root, ok := repositoryOf(at)
		if !ok {
			return ""
		}
		folder, declared, known := g.ownFolder(root)
		mine := equalNames(root, folder) && (declared || slices.Equal(known, remotesOf(root)))
		if remotes := remotesOf(root); len(remotes) > 0 && !mine {
			return "a clone of " + strings.Join(remotes, ", ")
		}
		if at = filepath.Dir(root); at == root {
			return ""
		}
	}
}

// ownFolder returns the innermost folder of the user's own that a path is in, and whether the operator declares it; if
// a person has confirmed it, as a clone of which remotes.
func (g *Ground) ownFolder(path string) (folder string, declared bool, remotes []string) {
	for _, f := range g.folders {
		if within(path, f) && len(f) > len(folder) {
			folder, declared = f, true
		}
	}
	for _, f := range g.opts.Confirmed.All() {
		if within(path, f.Path) && len(f.Path) > len(folder) {
			folder, declared, remotes = f.Path, false, f.Remotes
		}
	}
	return folder, declared, remotes
}

// Unconfirmed returns the folders in which a server works that are not the user's own, each with the reason.
func (g *Ground) Unconfirmed(server string) map[string]string {
	why := map[string]string{}
	s := g.servers[server]
	for _, base := range s.bases {
		for _, host := range s.hosts(base) {
			path := follow(host).path
			if reason := g.foreign(path); reason != "" {
				why[filepath.Clean(path)] = reason
			}
		}
	}
	return why
}

// Status says why a folder is not the user's own; "" if it is.
func (g *Ground) Status(path string) string { return g.foreign(follow(path).path) }

// Declared returns the folders that the operator declares, with links followed.
func (g *Ground) Declared() []string { return g.folders }
