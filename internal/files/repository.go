package files

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	dir := filepath.Join(root, ".git")
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return remotes
	case info.Mode().IsRegular(): // of a linked work tree, or a submodule
		text, ok := readSome(dir)
		to, isLink := strings.CutPrefix(strings.TrimSpace(text), "gitdir:")
		if to = strings.TrimSpace(to); !ok || !isLink || to == "" {
			return append(remotes, "an unreadable .git")
		}
		if dir = to; !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
		if common, ok := readSome(filepath.Join(dir, "commondir")); ok {
			if common = strings.TrimSpace(common); !filepath.IsAbs(common) {
				common = filepath.Join(dir, common)
			}
			dir = common
		}
	case !info.IsDir():
		return append(remotes, "a linked .git")
	}
	for _, name := range []string{"config", "config.worktree"} {
		text, ok := readSome(filepath.Join(dir, name))
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil && !ok || name == "config" && !ok {
			remotes = append(remotes, "an unreadable .git")
			continue
		}
		remotes = append(remotes, urlsIn(text)...)
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

// readSome reads a small regular file.
func readSome(path string) (string, bool) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxGit {
		return "", false // a pipe would never end
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxGit))
	return string(text), err == nil
}
