package overlay

import (
	"slices"
	"strings"
)

// A launcher is a program that fetches a package and runs it.
type launcher struct {
	name   string
	verbs  []string // the words that may follow its name, one of which has to; nil: none
	values []string // options that take the next word as their value
	from   []string // options whose value is the package, which then is not the first word
	ends   []string // options with which it runs something else
	image  bool     // what it runs is a container image
}

// launchers are the programs that command lines of MCP servers begin with.
var launchers = []launcher{
	{name: "npx", values: []string{"--cache", "--registry", "--prefix", "-w", "--workspace"},
		from: []string{"-p", "--package"}, ends: []string{"-c", "--call"}},
	{name: "npm", verbs: []string{"exec", "x"}, values: []string{"--registry"}, from: []string{"--package"},
		ends: []string{"-c", "--call"}},
	{name: "bunx", from: []string{"-p", "--package"}},
	{name: "bun", verbs: []string{"x"}},
	{name: "pnpx"},
	{name: "pnpm", verbs: []string{"dlx"}, from: []string{"--package"}},
	{name: "yarn", verbs: []string{"dlx"}, from: []string{"-p", "--package"}},
	{name: "deno", verbs: []string{"run"}},
	{name: "uvx", values: uvValues, from: []string{"--from"}},
	{name: "uv", verbs: []string{"tool run"}, values: uvValues, from: []string{"--from"}},
	{name: "pipx", verbs: []string{"run"}, values: []string{"--python", "--pip-args", "--index-url"}, from: []string{"--spec"}},
	{name: "go", verbs: []string{"run"}, values: []string{"-C", "-tags", "-ldflags", "-mod"}},
	{name: "docker", verbs: []string{"run", "container run"}, values: dockerValues, image: true},
	{name: "podman", verbs: []string{"run", "container run"}, values: dockerValues, image: true},
	{name: "nerdctl", verbs: []string{"run"}, values: dockerValues, image: true},
}

var uvValues = []string{"--python", "-p", "--with", "--with-editable", "--with-requirements", "--index", "--index-url",
	"--default-index", "--extra-index-url", "-i", "--directory", "--project", "--cache-dir", "--env-file", "--refresh-package",
	"-c", "--constraints", "--overrides"}

var dockerValues = []string{"-e", "--env", "--env-file", "-v", "--volume", "--mount", "-p", "--publish", "-u", "--user", "-w",
	"--workdir", "--name", "--network", "--net", "-l", "--label", "--entrypoint", "-h", "--hostname", "--platform", "--pull",
	"-m", "--memory", "--cpus", "--add-host", "--tmpfs", "--cap-add", "--cap-drop", "--security-opt", "--ulimit", "--gpus",
	"--device", "--dns", "--log-driver", "--log-opt", "--ip", "--ipc", "--pid", "--shm-size", "--stop-timeout", "--restart",
	"--group-add", "--runtime", "--userns", "-a", "--attach", "--cidfile", "--expose", "--init-path", "--volumes-from"}

// commandPackage returns the package that a command line runs, and its version; "" if it runs none that can be told. A
// name elsewhere in the line does not count: what runs is what the launcher fetches.
func commandPackage(command []string) (name, version string) {
	if len(command) == 0 {
		return "", ""
	}
	called, args := program(command[0]), command[1:]
	switch {
	case (called == "cmd" || called == "env") && len(args) > 0:
		return wrapped(called, args)
	case called == "node" || called == "bun" && len(args) > 0 && !slices.Contains([]string{"x", "run"}, args[0]):
		return installed(args), ""
	case called == "python" || strings.HasPrefix(called, "python3") || called == "py":
		return module(args), ""
	}
	for _, l := range launchers {
		if l.name == called {
			if rest, ok := l.after(args); ok {
				return l.find(rest)
			}
		}
	}
	return "", ""
}

// wrapped looks through cmd /c, and env with its assignments.
func wrapped(called string, args []string) (name, version string) {
	if called == "cmd" {
		if !strings.EqualFold(args[0], "/c") {
			return "", ""
		}
		return commandPackage(args[1:])
	}
	for len(args) > 0 && strings.Contains(args[0], "=") && !strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	return commandPackage(args)
}

// after returns what follows the verb.
func (l launcher) after(args []string) ([]string, bool) {
	if l.verbs == nil {
		return args, true
	}
	for _, verb := range l.verbs {
		words := strings.Fields(verb)
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			return args[len(words):], true
		}
	}
	return nil, false
}

// find returns the package among the launcher's arguments.
func (l launcher) find(args []string) (name, version string) {
	for i := 0; i < len(args); i++ {
		option, value, joined := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(l.ends, option):
			return "", ""
		case args[i] == "--" && i+1 < len(args):
			return l.split(args[i+1])
		case !strings.HasPrefix(args[i], "-"):
			return l.split(args[i])
		case slices.Contains(l.from, option) && joined:
			return l.split(value)
		case slices.Contains(l.from, option) && i+1 < len(args):
			return l.split(args[i+1])
		case slices.Contains(l.values, option) && !joined:
			i++
		}
	}
	return "", ""
}

// split parts a package from its version.
func (l launcher) split(s string) (name, version string) {
	s = strings.TrimPrefix(s, "npm:")
	if l.image {
		s, _, _ = strings.Cut(s, "@") // a digest says no version
		if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, '/') {
			return s[:i], plain(s[i+1:])
		}
		return s, ""
	}
	if i := strings.Index(s, "=="); i > 0 {
		s, version = s[:i], s[i+2:]
	} else if i := strings.LastIndexByte(s, '@'); i > 0 {
		s, version = s[:i], s[i+1:]
	}
	s, _, _ = strings.Cut(s, "[") // Python's extras
	return s, plain(version)
}

// plain returns the version; "" for the names of what is newest at the time.
func plain(version string) string {
	if version == "latest" || version == "main" || version == "*" {
		return ""
	}
	return version
}

// installed returns the npm package of a script that node runs out of node_modules.
func installed(args []string) string {
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			continue
		}
		a = strings.ReplaceAll(a, `\`, "/")
		i := strings.LastIndex(a, "node_modules/")
		if i < 0 || strings.Contains(a, "/../") {
			return ""
		}
		parts := strings.SplitN(a[i+len("node_modules/"):], "/", 3)
		if strings.HasPrefix(parts[0], "@") && len(parts) > 1 {
			return parts[0] + "/" + parts[1]
		}
		return parts[0]
	}
	return ""
}

// module returns the Python module that -m runs: its name is taken for that of its package.
func module(args []string) string {
	i := slices.Index(args, "-m")
	if i < 0 || i+1 >= len(args) || slices.ContainsFunc(args[:i], func(a string) bool { return !strings.HasPrefix(a, "-") }) {
		return ""
	}
	return args[i+1]
}

// program returns the file name of a program, without .exe and the like.
func program(command string) string {
	name := command[strings.LastIndexAny(command, `/\`)+1:]
	for _, ext := range []string{".exe", ".cmd", ".bat"} {
		if base, ok := strings.CutSuffix(strings.ToLower(name), ext); ok {
			return name[:len(base)]
		}
	}
	return name
}
