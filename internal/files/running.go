package files

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/speech"
)

// Runs returns which untrusted program a call may start, "" if none is known. Even to read a folder, git runs the
// programs that its repository names: hooks, a monitor of files, filters, programs that check signatures or fetch
// missing objects. A clone brings none of these, but an archive, a shared folder and a repository inside another one
// do. Folders of the user's own work are the user's to run.
func (g *Ground) Runs(t guard.Touch) string {
	if t.Server == "" || g.opts.Servers[t.Server].Far {
		return "" // it runs programs on another machine
	}
	uses := slices.Contains(speech.NameWords(t.Name), "git")
	dirs := slices.Clone(g.servers[t.Server].bases)
	for _, a := range t.Texts {
		switch {
		case a.Name || len(a.Text) > maxText:
		case isCommand(a.Path):
			uses = uses || gitWord().MatchString(a.Text)
		case !a.Content && len(a.Text) <= maxPath:
			dirs = appendNew(dirs, strings.TrimSpace(a.Text))
		}
	}
	if !uses {
		return ""
	}
	for _, dir := range dirs {
		for _, name := range g.Locate(t.Server, dir).Names {
			if g.foreign(name) == "" {
				continue
			}
			for _, at := range parents(name) {
				if why := unusual(at); why != "" {
					g.tell(at, "git may run "+why)
					return why
				}
			}
		}
	}
	return ""
}

// Starts returns a program that git may start by the settings and hooks of the repository that a file is in, beside
// those of a plain clone; "" if there is none.
func (g *Ground) Starts(server, path string) string {
	for _, name := range g.Locate(server, path).Names {
		for _, at := range parents(name) {
			if why := unusual(at); why != "" {
				return why
			}
		}
	}
	return ""
}

// Enters returns a program that git may start if a path is in its index, by the settings and hooks of a repository
// there or below; "" if none is found. With whole it is all of the work trees around the path. It is sure
// that there are no others unless there are too many names to look at.
func (g *Ground) Enters(server, path string, whole bool) (program string, sure bool) {
	left := maxNested
	for _, name := range g.Locate(server, path).Names {
		if whole {
			for _, at := range parents(name) {
				if _, err := os.Lstat(at + sep + ".git"); err == nil {
					name = at // the outermost, since git passes some by
				}
			}
		}
		if program, left = nested(name, left); program != "" || left < 0 {
			return program, false
		}
		sure = true
	}
	return "", sure
}

// gitWord finds git as a word of a command.
var gitWord = pattern.New(`(?i)(^|[^a-z0-9_-])git(\.exe)?($|[^a-z0-9_])`)

// unusual returns how a folder, as the root of a repository, differs from a plain clone; "" if it does not, or is no
// repository.
func unusual(folder string) string {
	dirs, ok := gitDirs(folder)
	switch {
	case !ok:
		return "the folder that a .git names in a way of its own in " + folder
	case len(dirs) > 0:
	case !isBare(folder):
		return ""
	case filepath.Base(folder) != ".git":
		return "programs of the settings of a repository in plain files in " + folder
	default:
		if dirs, ok = withCommon(folder); !ok {
			return "an unreadable commondir in " + folder
		}
	}
	for _, dir := range dirs {
		if program := acts(dir); program != "" {
			return program + " of the git repository in " + folder
		}
	}
	return ""
}

// isBare reports whether git takes a folder for a repository without a work tree, or would once folders are made in it.
func isBare(folder string) bool {
	info, err := os.Lstat(filepath.Join(folder, "HEAD"))
	if err != nil || info.IsDir() { // a link to nothing counts as a HEAD
		return false
	}
	return slices.ContainsFunc([]string{"config", "commondir", "hooks", "objects", "refs"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(folder, name))
		return err == nil
	})
}

// acts returns the part of a repository that may have git start a program; "" if there is none.
func acts(dir string) string {
	for _, name := range []string{"config", "config.worktree"} {
		text, got := readSome(filepath.Join(dir, name))
		if got == unreadable {
			return "unreadable settings"
		}
		if key := unknownKey(text); key != "" {
			return "the setting " + clip(key)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "hooks"))
	if err != nil && !os.IsNotExist(err) {
		return "the hooks"
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".sample") {
			return "the hook " + clip(e.Name())
		}
	}
	if holdsRepositories(filepath.Join(dir, "index")) {
		return "a repository inside"
	}
	return ""
}

// maxIndex is how large an index may be that is searched, in bytes.
const maxIndex = 64 << 20

// holdsRepositories reports whether an index may name other repositories, whose settings git reads too. Their mode is
// written as it is in every version of the format (gitformat-index); bytes that only look like it count too.
func holdsRepositories(index string) bool {
	info, err := os.Stat(index)
	if os.IsNotExist(err) {
		return false
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIndex {
		return true
	}
	f, err := os.Open(index)
	if err != nil {
		return true
	}
	defer f.Close()
	all, err := io.ReadAll(io.LimitReader(f, maxIndex))
	return err != nil || bytes.Contains(all, []byte{0, 0, 0xe0, 0}) || bytes.Contains(all, []byte("link\x00"))
}

var (
	gitSection = pattern.New(`^\[([A-Za-z0-9-]+)(?:[ \t]+"[^"\\]*")?\]$`)
	gitSetting = pattern.New(`^([A-Za-z][A-Za-z0-9-]*)(?:[ \t]*=[ \t]*([^"\\#;]*))?$`)
	gitFetches = pattern.New(`^(?i:https?://|ssh://|git://|file://)|^[A-Za-z0-9_.@/~][A-Za-z0-9_.@/~-]*(:[^:]|$)`) // and no helper by its name, as in ext::sh
)

// unknownKey returns the first setting of a configuration of git that is none of those which a clone writes and which
// start nothing, or a line that is not as git writes it; "" if there is none.
func unknownKey(config string) string {
	section := ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if m := gitSection().FindStringSubmatch(line); m != nil {
			section = strings.ToLower(m[1])
			continue
		}
		m := gitSetting().FindStringSubmatch(line)
		if m == nil {
			return line
		}
		key, value := section+"."+strings.ToLower(m[1]), strings.TrimSpace(m[2])
		switch {
		case key == "remote.url" || key == "remote.pushurl" || key == "submodule.url" || key == "branch.remote" || key == "branch.pushremote":
			if !gitFetches().MatchString(value) {
				return key
			}
		case key == "core.fsmonitor" && !slices.Contains([]string{"true", "false"}, value), !gitSettings[key]:
			return key
		}
	}
	return ""
}

// gitSettings are settings that have git start no program with any value, apart from the values that unknownKey checks.
var gitSettings = func() map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(`core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode
		core.symlinks core.autocrlf core.eol core.safecrlf core.quotepath core.longpaths core.protecthfs core.protectntfs core.trustctime core.checkstat
		core.untrackedcache core.fsmonitor core.sharedrepository core.compression core.bigfilethreshold core.abbrev
		remote.fetch remote.push remote.tagopt remote.prune remote.prunetags remote.mirror remote.gh-resolved remote.skipfetchall
		branch.merge branch.rebase branch.description branch.autosetuprebase branch.autosetupmerge branch.vscode-merge-base branch.github-pr-owner-number
		submodule.active submodule.ignore submodule.branch submodule.recurse user.name user.email init.defaultbranch pull.rebase pull.ff push.default push.autosetupremote
		fetch.prune fetch.prunetags gc.auto extensions.objectformat extensions.refstorage extensions.worktreeconfig rerere.enabled lfs.repositoryformatversion`) {
		set[name] = true
	}
	return set
}()
