package setup

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/overlay"
)

// plainWords are, by program, the words and options before a package or a file that leave open no other code than that.
// Of -e and --env follows the name of a variable.
var plainWords = map[string]string{
	"npx":    "-y --yes -q --quiet --",
	"bunx":   "",
	"pnpm":   "dlx",
	"yarn":   "dlx",
	"node":   "--enable-source-maps --no-warnings --",
	"bun":    "run x",
	"deno":   "run -A --allow-all --allow-env --allow-net --allow-read --allow-write -q --quiet",
	"uvx":    "-q --quiet --",
	"uv":     "tool run -q --quiet --",
	"pipx":   "run",
	"python": "-u -B -I -E -s -m",
	"go":     "run",
	"docker": dockerWords, "podman": dockerWords, "nerdctl": dockerWords,
}

const dockerWords = "container run -i --interactive -t --tty -it -ti --rm --init -e --env"

var versionEnd = pattern.New(`^(\[[\w.,-]*\])?((==|@)[\w.+!^~*-]*)?$|^(:[\w.-]+)?(@sha256:[0-9a-f]+)?$`)

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
	if len(args) == 0 {
		return told
	}
	first, name := args[0], (overlay.Server{Command: spec.Command}).Package()
	switch {
	case strings.HasPrefix(first, "-"):
		return told + ", with options that are not shown"
	case isFile(spec.Dir, first):
		return told + " " + first
	case fromRegistry(first, name):
		return told + " " + name
	}
	return told
}

// fromRegistry reports whether an argument is a package and perhaps a version: other texts behind the name are sources.
func fromRegistry(arg, name string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(arg, "npm:"), name)
	return ok && name != "" && !strings.Contains(name, "://") && versionEnd().MatchString(rest)
}

// behindPlain returns the arguments of a command behind its plain words.
func behindPlain(command []string) []string {
	name := command[0][strings.LastIndexAny(command[0], `/\`)+1:]
	name = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), ".exe"), ".cmd")
	plain := strings.Fields(plainWords[strings.TrimRight(name, "0123456789.")])
	args := command[1:]
	for len(args) > 0 && slices.Contains(plain, args[0]) {
		takes := args[0] == "-e" || args[0] == "--env"
		if takes && (len(args) == 1 || strings.Contains(args[1], "=")) { // a value may be code to a runtime
			break
		}
		if args = args[1:]; takes {
			args = args[1:]
		}
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
