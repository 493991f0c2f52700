package files

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// maxGit is how much is read of a file of a repository, in bytes.
const maxGit = 1 << 20

// others are folders by which repositories are known whose remotes nobody reads here.
var others = []string{".hg", ".svn", ".jj", ".bzr", "_darcs", "CVS", ".fslckout"}

// repositoryOf returns the root of the innermost work tree that a path is in. A nested one comes first.
func repositoryOf(path string) (root string, ok bool) {
	for _, dir := range parents(path) {
		for _, name := range append([]string{".git"}, others...) {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				return dir, true
			}
		}
	}
	return "", false
}

// remotesOf returns the possible origins of the contents of a work tree, sorted: the URLs of its remotes in git's
// configuration, and a description of each origin that is not read here. Only the user who confirms such a list decides
// whether to trust it: a repository can name any origin.
func remotesOf(root string) (remotes []string) {
	for _, name := range others {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			remotes = append(remotes, "a "+name+" repository")
		}
	}
	dirs, ok := gitDirs(root)
	if !ok {
		return append(remotes, "an unreadable .git")
	}
	for i, dir := range dirs {
		for _, name := range []string{"config", "config.worktree"} {
			text, got := readSome(filepath.Join(dir, name))
			if got == unreadable || got == missing && name == "config" && i == len(dirs)-1 {
				remotes = append(remotes, "an unreadable .git")
			}
			remotes = append(remotes, urlsIn(text)...)
		}
	}
	slices.Sort(remotes)
	return slices.Compact(remotes)
}

// urlsIn returns the URLs of remotes in a configuration of git, and a word for each file that it includes. It is
// coarser than git: a line that git would take for a URL is never left out.
func urlsIn(config string) (urls []string) {
	section := ""
	config = strings.ReplaceAll(config, "\\\r\n", "")
	for line := range strings.SplitSeq(strings.ReplaceAll(config, "\\\n", ""), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, _ := strings.Cut(line[1:], "]")
			section, line = strings.ToLower(head), strings.TrimSpace(rest)
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.Trim(strings.TrimSpace(value), `"`)
		switch {
		case strings.HasPrefix(section, "include") && key == "path":
			urls = append(urls, "what its configuration includes from "+clip(value))
		case strings.HasPrefix(section, "remote") && (key == "url" || key == "pushurl" || key == "promisor"):
			urls = append(urls, clip(withoutPassword(value)))
		case strings.HasPrefix(section, "branch") && (key == "remote" || key == "pushremote") && strings.ContainsAny(value, ":/"):
			urls = append(urls, clip(withoutPassword(value))) // such as that of a checked-out pull request
		case strings.HasPrefix(section, "svn-remote") && key == "url", strings.HasPrefix(section, "url ") && key == "insteadof":
			urls = append(urls, clip(withoutPassword(value)))
		}
	}
	return urls
}

// withoutPassword removes the user and password of a URL.
func withoutPassword(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	return scheme + "://" + host + "/" + path
}

func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), 512)], "") }

// gitDirs returns the folders of the repository of which a folder is the root of a work tree, without links: that of
// the work tree, and behind it the one that it shares with others; none if there is no .git. It is not ok where git may
// find others, or none: where .git is a link, or a path in a file is not as git writes it.
func gitDirs(root string) (dirs []string, ok bool) {
	dir := filepath.Join(root, ".git")
	info, err := os.Lstat(dir)
	switch {
	case err != nil && isMissing(err):
		return nil, true
	case err != nil:
		return nil, false
	case info.Mode().IsRegular(): // of a linked work tree, or a submodule
		text, got := readSome(dir)
		if dir, ok = pathIn(root, text, "gitdir: "); got != read || !ok {
			return nil, false
		}
	case !info.IsDir():
		return nil, false
	}
	return withCommon(dir)
}

// withCommon returns the folder of a repository, and the one that it shares with others.
func withCommon(dir string) (dirs []string, ok bool) {
	text, got := readSome(filepath.Join(dir, "commondir"))
	if got == missing {
		return []string{dir}, true
	}
	common, ok := pathIn(dir, text, "")
	return []string{dir, common}, got == read && ok
}

// pathIn returns the path that a file of git in a folder holds behind a prefix, with links followed. It is ok only for
// a text as git writes it: one line, without signs at which readers differ over the end of a path.
func pathIn(folder, text, prefix string) (path string, ok bool) {
	line, ended := strings.CutSuffix(text, "\n")
	path, is := strings.CutPrefix(line, prefix)
	if !ended || !is || path == "" || strings.TrimSpace(path) != path || strings.ContainsFunc(path, unicode.IsControl) {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = folder + sep + path // not cleaned, since ".." may follow a link
	}
	path, err := filepath.EvalSymlinks(path)
	return path, err == nil
}

// An outcome is that of reading a file that may not be there.
type outcome int

const (
	unreadable outcome = iota // or longer than maxGit
	missing
	read
)

// readSome reads a small regular file. The text is empty unless all of it was read.
func readSome(path string) (string, outcome) {
	switch info, err := os.Stat(path); {
	case err != nil && isMissing(err):
		if _, err := os.Lstat(path); err == nil {
			return "", unreadable // a link to nothing
		}
		return "", missing
	case err != nil || !info.Mode().IsRegular():
		return "", unreadable // a pipe would never end
	}
	f, err := os.Open(path)
	if err != nil {
		return "", unreadable
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxGit+1))
	if err != nil || len(text) > maxGit {
		return "", unreadable
	}
	return string(text), read
}
