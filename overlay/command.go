package overlay

import (
	"regexp"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// A registry is where launchers fetch packages from. Packages of two registries with one name are two packages.
type registry string

// The registries. Of images it is the one that the name begins with, or Docker Hub.
const (
	npm    registry = "npm"
	pypi   registry = "pypi"
	golang registry = "go"
	images registry = "image"
)

// named fits how a package of a registry and perhaps its version are written: the groups are the name and the version.
// Other texts behind a name are other sources of it: URLs, folders, files, aliases.
var named = map[registry]func() *regexp.Regexp{
	npm: pattern.New(`^((?:@[\w-][\w.~-]*/)?[\w-][\w.~-]*)(?:@([\w^~*][\w.+^~*-]*))?$`),
	pypi: pattern.New(`^(\w(?:[\w.-]*\w)?)(?:\[[\w.,-]*\])?(?:(?:==|@)(latest|` + // a version as PEP 440 has it
		`v?(?:\d+!)?\d+(?:\.(?:\d+|\*))*(?:[._-]?(?:a|b|c|rc|alpha|beta|pre|preview|post|rev|r|dev)[._-]?\d*)*(?:\+\w+(?:[._-]\w+)*)?))?$`),
	golang: pattern.New(`^([\w-]+(?:\.[\w-]+)+(?:/[\w~-][\w.~-]*)+)@(v?\w[\w.+-]*)$`),
	images: pattern.New(`^((?:(?:[\w-]+(?:\.[\w-]+)+(?::\d+)?|[\w-]+:\d+|localhost)/)?` +
		`[\w-][\w.-]*(?:/[\w-][\w.-]*)*)(?::([\w][\w.-]*))?(?:@sha256:[0-9a-f]+)?$`),
}

// archive fits names and versions that launchers take for files beside them.
var archive = pattern.New(`(?i)\.(?:tgz|tar|gz|bz2|xz|zip|whl|pyw?)$`)

// A launcher is a program that fetches a package and runs it. An option that is not listed may name another source of
// the package, or have something else run.
type launcher struct {
	name   string
	kind   registry
	verbs  []string                     // the words that may follow its name, one of which has to; nil: none
	plain  string                       // options without a value
	valued string                       // options with a value that leaves the package what it is
	values map[string]func(string) bool // and those whose value has to fit
	from   string                       // options whose value is the package; the word behind them is a program in it
	strict bool                         // it reads options behind the package too, up to --
}

// launchers are the programs that command lines of MCP servers begin with.
var launchers = []launcher{
	{name: "npx", kind: npm, plain: npmPlain, from: "-p --package"},
	{name: "npm", kind: npm, verbs: []string{"exec", "x"}, plain: npmPlain, from: "--package", strict: true},
	{name: "bunx", kind: npm, plain: "--bun --silent --verbose", from: "-p --package"},
	{name: "bun", kind: npm, verbs: []string{"x"}, plain: "--bun --silent --verbose"},
	{name: "pnpx", kind: npm, plain: "-s --silent"},
	{name: "pnpm", kind: npm, verbs: []string{"dlx"}, plain: "-s --silent", from: "--package"},
	{name: "yarn", kind: npm, verbs: []string{"dlx"}, plain: "-q --quiet", from: "-p --package"},
	{name: "deno", kind: npm, verbs: []string{"run"}, plain: "-A -E -N -R -W -S -q --quiet --no-prompt"},
	{name: "uvx", kind: pypi, plain: uvPlain, valued: uvValued, values: uvValues, from: "--from"},
	{name: "uv", kind: pypi, verbs: []string{"tool run"}, plain: uvPlain, valued: uvValued, values: uvValues, from: "--from"},
	{name: "pipx", kind: pypi, verbs: []string{"run"}, plain: "-q --quiet -v --verbose --no-cache",
		values: map[string]func(string) bool{"--python": isPython}, from: "--spec"},
	{name: "go", kind: golang, verbs: []string{"run"}},
	{name: "docker", kind: images, verbs: []string{"run", "container run"}, plain: dockerPlain, valued: dockerValued, values: dockerValues},
	{name: "podman", kind: images, verbs: []string{"run", "container run"}, plain: dockerPlain, valued: dockerValued, values: dockerValues},
	{name: "nerdctl", kind: images, verbs: []string{"run"}, plain: dockerPlain, valued: dockerValued, values: dockerValues},
}

const (
	npmPlain    = "-y --yes -q --quiet -s --silent --prefer-offline --prefer-online --offline"
	uvPlain     = "-q --quiet -v --verbose -n --no-cache --no-config --no-env-file --no-progress --isolated --offline --refresh --native-tls"
	uvValued    = "--refresh-package --color --prerelease"
	dockerPlain = "-i --interactive -t --tty -it -ti --rm --init -q --quiet --read-only --privileged --no-healthcheck"

	dockerValued = `-a --add-host --attach --cap-add --cap-drop --cidfile --cpus --dns --expose --gpus --group-add -h --hostname --ip --ipc -l --label
		--log-driver --log-opt -m --memory --name --net --network -p --pid --platform --publish --pull --restart --security-opt --shm-size
		--stop-timeout --tmpfs -u --ulimit --user --userns`
)

var (
	uvValues     = map[string]func(string) bool{"--python": isPython, "-p": isPython}
	dockerValues = map[string]func(string) bool{"-e": isSetting, "--env": isSetting, "-v": isVolume, "--volume": isVolume, "--mount": isMount}
)

var pythonVersion = pattern.New(`^(?:python|cpython@?)?\d+(?:\.\d+)*$`)

func isPython(value string) bool { return pythonVersion().MatchString(value) }

// sourceVariables begin the names of variables by which launchers and runtimes get code from elsewhere, and are such
// names as a whole if they end in =. Those in harmless do not, and folders in placeVariables do if they depend on the
// working folder.
var (
	sourceVariables = strings.Fields(`BASH_ENV= BASH_FUNC_ BUN_ CC= CGO_ COMSPEC= CONTAINER_ CONTAINERD_ CONTAINERS_
		COREPACK_ CURL_CA_BUNDLE= CXX= DENO_ DOCKER_
		DYLD_ GCONV_PATH= GIT_ GOAUTH= GOBIN= GOCACHE= GOCACHEPROG= GOENV= GOFLAGS= GOINSECURE= GOMODCACHE= GONOPROXY= GONOSUMDB=
		GOPATH= GOPRIVATE= GOPROXY= GOROOT= GOSUMDB= GOTOOLCHAIN= GOVCS= GOWORK= JAVA_TOOL_OPTIONS= JDK_JAVA_OPTIONS= _JAVA_OPTIONS=
		LD_ NERDCTL_ NODE_ NPM_CONFIG_ OPENSSL_ PATHEXT= PERL5 PIP_ PIPX_ PKG_CONFIG PNPM_ PREFIX= PYTHON REGISTRIES_
		REQUESTS_CA_BUNDLE= RUBYLIB= RUBYOPT= SHELL= SHELLOPTS= SSL_CERT_ UV_ VIRTUAL_ENV= YARN_ ZDOTDIR=`)
	placeVariables = strings.Fields(`APPDATA HOME LOCALAPPDATA PATH USERPROFILE XDG_CACHE_HOME XDG_CONFIG_DIRS XDG_CONFIG_HOME XDG_DATA_DIRS
		XDG_DATA_HOME`)
	harmless = strings.Fields("NODE_ENV NODE_NO_WARNINGS PYTHONDONTWRITEBYTECODE PYTHONIOENCODING PYTHONUNBUFFERED PYTHONUTF8")
)

// isSetting reports whether a variable, with its value or without, says nothing of where code comes from.
func isSetting(variable string) bool {
	name, value, _ := strings.Cut(variable, "=")
	name = strings.ToUpper(name)
	if slices.Contains(placeVariables, name) {
		separator := ":"
		if strings.Contains(value, `\`) {
			separator = ";"
		}
		return !slices.ContainsFunc(strings.Split(value, separator), func(dir string) bool { return !isAbsolute(dir) })
	}
	return slices.Contains(harmless, name) || !slices.ContainsFunc(sourceVariables, func(begin string) bool {
		return strings.HasPrefix(name+"=", begin)
	})
}

// isAbsolute reports whether a path is one of this machine, whatever the working folder is.
func isAbsolute(path string) bool {
	return strings.HasPrefix(path, "/") || len(path) > 2 && path[1] == ':' && strings.ContainsAny(path[2:3], `/\`)
}

// isVolume reports whether a volume hides no program of an image: it is mounted where images have data, or has a name,
// so that the container engine fills it from the image.
func isVolume(volume string) bool {
	parts := strings.Split(volume, ":")
	if len(parts) > 1 && len(parts[0]) == 1 { // a drive
		parts = append([]string{parts[0] + ":" + parts[1]}, parts[2:]...)
	}
	return len(parts) > 1 && (isData(parts[0], parts[1]) || volumes().MatchString(parts[0]))
}

var volumes = pattern.New(`^\w[\w.-]+$`)

// isMount reports the same of a mount.
func isMount(mount string) bool {
	var from, to string
	if strings.Contains(mount, `"`) { // of CSV
		return false
	}
	for part := range strings.SplitSeq(mount, ",") {
		switch name, value, _ := strings.Cut(part, "="); strings.ToLower(name) {
		case "source", "src":
			from = value
		case "target", "destination", "dst":
			if to != "" {
				return false
			}
			to = value
		}
	}
	return isData(from, to)
}

// dataFolders are folders that have no programs in images.
var dataFolders = strings.Fields(`/data /docs /documents /files /local-directory /media /mnt /project /projects /repo /repos /repositories /vault
	/work /workdir /workspace /workspaces /Users`)

// isData reports whether what is mounted there hides no program of an image.
func isData(from, to string) bool {
	if strings.Contains(to+"/", "/../") {
		return false
	}
	return from == to && strings.HasPrefix(to, "/home/") ||
		slices.ContainsFunc(dataFolders, func(dir string) bool { return to == dir || strings.HasPrefix(to, dir+"/") })
}

// A fetched is a package that a command line runs as its registry has it.
type fetched struct {
	kind          registry
	name, version string
}

// commandPackage returns the package that a command line runs; none if it is not sure to be that of the registry, or
// one that is installed already, and nothing else. A name elsewhere in the line does not count.
func commandPackage(command []string) fetched {
	if len(command) == 0 || strings.ContainsAny(command[0], `/\`) && !isAbsolute(command[0]) {
		return fetched{}
	}
	called, args := program(command[0]), command[1:]
	switch {
	case (called == "cmd" || called == "env") && len(args) > 0:
		return wrapped(called, args)
	case called == "node" || called == "bun" && len(args) > 0 && !slices.Contains([]string{"x", "run"}, args[0]):
		return fetched{kind: npm, name: installed(args)}
	case strings.TrimRight(called, "0123456789.") == "python" || called == "py":
		return fetched{kind: pypi, name: module(args)}
	}
	for _, l := range launchers {
		if l.name == called {
			if rest, ok := l.after(args); ok {
				return l.find(rest)
			}
		}
	}
	return fetched{}
}

// wrapped looks through cmd /c, and env with its assignments.
func wrapped(called string, args []string) fetched {
	if called == "cmd" {
		if !strings.EqualFold(args[0], "/c") || slices.ContainsFunc(args, func(a string) bool { return strings.ContainsAny(a, "&|<>^%\"\r\n") }) {
			return fetched{}
		}
		return commandPackage(args[1:])
	}
	for len(args) > 0 && strings.Contains(args[0], "=") && !strings.HasPrefix(args[0], "-") {
		if !isSetting(args[0]) {
			return fetched{}
		}
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
func (l launcher) find(args []string) fetched {
	var from string
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--" {
		option, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		is := func(list string) bool { return slices.Contains(strings.Fields(list), option) }
		check, checked := l.values[option]
		source := is(l.from)
		if !joined && (checked || source || is(l.valued)) {
			if len(args) == 0 {
				return fetched{}
			}
			value, args = args[0], args[1:]
		}
		switch {
		case checked && check(value), is(l.valued), !joined && is(l.plain):
		case source && from == "" && value != "":
			from = value
		case l.name == "deno" && (strings.HasPrefix(option, "--allow-") || strings.HasPrefix(option, "--deny-")):
		default:
			return fetched{}
		}
	}
	ended := len(args) > 0 && args[0] == "--"
	if ended {
		args = args[1:]
	}
	if len(args) == 0 || l.strict && !ended && optionsIn(args) {
		return fetched{}
	}
	if from == "" {
		return l.read(args[0])
	}
	p := l.read(from)
	if !p.has(args[0]) {
		return fetched{}
	}
	return p
}

// optionsIn reports whether a launcher finds options among arguments, up to --.
func optionsIn(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") })
}

// has reports whether a program is the one after which the package is called.
func (p fetched) has(program string) bool {
	base, program := foldPackage(p.name[strings.LastIndexByte(p.name, '/')+1:]), foldPackage(strings.TrimSuffix(program, ".exe"))
	return base != "" && (program == base || program == "mcp-"+base)
}

// read parts a package from its version.
func (l launcher) read(text string) fetched {
	if l.name == "deno" {
		rest, ok := strings.CutPrefix(text, "npm:")
		if !ok {
			return fetched{} // a file or a URL
		}
		text = rest
	}
	parts := named[l.kind]().FindStringSubmatch(text)
	if parts == nil || l.kind != images && archive().MatchString(text) || l.name == "pipx" && strings.Contains(text, "@") {
		return fetched{}
	}
	p := fetched{l.kind, parts[1], parts[2]}
	if l.kind == images {
		host, rest, below := strings.Cut(p.name, "/")
		switch isHost := below && (strings.ContainsAny(host, ".:") || host == "localhost"); {
		case isHost && (host == "docker.io" || host == "index.docker.io"):
			p.name = rest
		case !isHost && l.name == "podman": // which looks in several registries
			return fetched{}
		}
	}
	switch p.version {
	case "latest", "main", "*": // the newest at the time
		p.version = ""
	}
	return p
}

// Options of runtimes that have no other code run.
var (
	nodePlain   = strings.Fields("--enable-source-maps --no-warnings --no-deprecation --trace-warnings")
	pythonPlain = strings.Fields("-u -B -I -E -s -P -O -OO -q -3")
)

// installed returns the npm package of a script that node runs out of node_modules. A relative folder is that of any
// project.
func installed(args []string) string {
	for len(args) > 0 && slices.Contains(nodePlain, args[0]) {
		args = args[1:]
	}
	if len(args) == 0 || !isAbsolute(args[0]) {
		return ""
	}
	path := strings.ReplaceAll(args[0], `\`, "/")
	i := strings.LastIndex(path, "/node_modules/")
	if i < 0 || strings.Contains(path, "/../") {
		return ""
	}
	parts := strings.SplitN(path[i+len("/node_modules/"):], "/", 3)
	if strings.HasPrefix(parts[0], "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

var modules = pattern.New(`^\w[\w.]*$`)

// module returns the Python module that -m runs: its name is taken for that of its package.
func module(args []string) string {
	for len(args) > 0 && slices.Contains(pythonPlain, args[0]) {
		args = args[1:]
	}
	if len(args) < 2 || args[0] != "-m" || !modules().MatchString(args[1]) {
		return ""
	}
	return args[1]
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
