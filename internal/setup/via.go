package setup

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/upstream"
)

// plainWords are, by program, the words and options before a file, or before other options, that leave open
// no other code than that.
var plainWords = map[string]string{
	"node":   "--enable-source-maps --no-warnings --",
	"bun":    "run",
	"deno":   "run -A --allow-all --allow-env --allow-net --allow-read --allow-write -q --quiet",
	"uv":     "run -q --quiet --",
	"python": "-u -B -I -E -s",
	"go":     "run",
	"npm":    "exec x", "pnpm": "dlx", "yarn": "dlx", "pipx": "run",
	"docker": dockerWords, "podman": dockerWords, "nerdctl": dockerWords,
}

const dockerWords = "container run -i --interactive -t --tty -it -ti --rm --init"

// via returns the program or the address by which a server is reached, for people. Of the arguments only a package and
// a file are told, and of a URL the host: the others may be secrets. Neither is told where another argument comes
// before, which may be code, or name a source of it.
func via(spec *upstream.Spec) string {
	if spec.URL != "" {
		u, err := url.Parse(spec.URL)
		if err != nil {
			return ""
		}
		return u.Scheme + "://" + u.Host
	}
	if len(spec.Command) == 0 {
		return ""
	}
	told, args := spec.Command[0], behindPlain(spec.Command)
	switch name := Who("", spec).Package(); {
	case name != "":
		return told + " " + name
	case len(args) > 0 && strings.HasPrefix(args[0], "-"):
		return told + ", with options that are not shown"
	case len(args) > 0 && isFile(spec.Dir, args[0]):
		return told + " " + args[0]
	}
	return told
}

// behindPlain returns the arguments of a command behind its plain words.
func behindPlain(command []string) []string {
	name := command[0][strings.LastIndexAny(command[0], `/\`)+1:]
	name = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), ".exe"), ".cmd")
	plain := strings.Fields(plainWords[strings.TrimRight(name, "0123456789.")])
	args := command[1:]
	for len(args) > 0 && slices.Contains(plain, args[0]) {
		args = args[1:]
	}
	return args
}

func isFile(dir, path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
