package cmdline

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// environments run a command in an environment of Python that the project describes.
var environments = words("uv poetry")

// modules are the modules of Python that are commands of doers by the same name.
var modules = words("pytest mypy ruff black flake8 pylint")

// everywhere are options of git with which it shows commits that are not in the history of the work tree, or names of
// branches and tags.
var everywhere = words("--all --branches --tags --remotes --list --decorate")

// namesRefs matches formats of git with names of branches and tags, or with notes.
var namesRefs = pattern.New(`%[-+ ]?[dDSN(]`)

// atSigns are programs for which a word with @ in front is one like others: for many it names a file with options and
// operands.
var atSigns = words("git grep egrep fgrep rg find echo tr")

// here reports whether an operand of a build stands for a part of the project: no address, no version of a package,
// no variable.
func here(operand string) bool {
	return !strings.Contains(operand, "://") && !strings.ContainsAny(operand, "=@")
}

// one reports whether an operand of a build is a part of the project for a program that reads patterns itself.
func one(operand string) bool { return here(operand) && !strings.ContainsAny(operand, "*?[]{}()!") }

// usual reports whether the target of a build has a name by which builds send nothing anywhere: no deploy, publish
// or release.
func usual(operand string) bool {
	parts := strings.FieldsFunc(operand, func(r rune) bool { return strings.ContainsRune(":-_", r) })
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(part string) bool { return !targets.has(part) })
}

// targets are words in the names of targets of builds.
var targets = words(`all build compile test tests unit integration coverage cover check checks lint vet type types typecheck format fmt
	prettier clean assemble verify generate gen classes testClasses debug js css ts web api app core server client
	docs doc fast short race quick fix`)

// goal is usual for names of which a colon would make a plugin of anybody's.
func goal(operand string) bool { return usual(operand) && !strings.Contains(operand, ":") }

// dotted reports whether an operand is a path that begins in the folder, as packages of Go do that are no dependencies.
func dotted(operand string) bool {
	return operand == "." || strings.HasPrefix(operand, "./") && !strings.Contains(operand, "@")
}

// doers are programs that do more than read, or that [ReadOnly] does not know, with the options with which no more
// happens than their row says. Not on the list is an option that names a program, a plugin, a configuration or a
// place to write to, a program that runs the text of an argument, and one that fetches or sends by itself, beside
// the dependencies that the project declares.
var doers = map[string]command{
	"echo":  {known: true, letters: "ne", of: ofText, operands: -1},
	"true":  {known: true},
	"sort":  {known: true, letters: "rnufbhVdgis", valued: texts("-k -t"), operands: -1, shows: named},
	"uniq":  {known: true, letters: "cdui", operands: 1, shows: named},
	"tr":    {known: true, letters: "dscC", of: ofText, operands: 2},
	"mkdir": {known: true, ends: true, letters: "pv", long: words("--parents"), operands: -1, least: 1, does: Writing},
	"touch": {known: true, ends: true, letters: "acm", operands: -1, least: 1, does: Writing, writes: every},
	"cp":    {known: true, ends: true, letters: "aRrpvnf", operands: -1, least: 2, does: Writing, writes: last},
	"mv":    {known: true, ends: true, letters: "vnf", operands: -1, least: 2, does: Changing, writes: last},
	"rm":    {known: true, ends: true, letters: "rRfvd", operands: -1, least: 1, does: Changing},
	"rmdir": {known: true, ends: true, letters: "pv", operands: -1, least: 1, does: Changing},

	"git": {known: true, verbs: map[string]command{
		"add": {known: true, git: recording, ends: true, letters: "AuvnN", long: words("--all --update --verbose --dry-run"), operands: -1, does: Writing},
		"commit": {known: true, git: recording, letters: "aqsv", valued: texts("-m -am --message"),
			long: words("--all --quiet --signoff --amend --no-edit --allow-empty"),
			does: Writing},
		"restore": {known: true, ends: true, letters: "S", long: words("--staged"), operands: -1, least: 1, does: Changing},
	}},

	"go": {known: true, verbs: map[string]command{
		"test": {known: true, whole: true, operands: -1, operand: dotted, of: ofPackages, does: Building,
			long:   words("-v -race -short -cover -failfast -json -fullpath"),
			valued: texts("-run -skip -bench -benchtime -count -timeout -parallel -p -cpu -shuffle -covermode -tags -vet")},
		"build": {known: true, whole: true, operands: -1, operand: dotted, of: ofPackages,
			long: words("-v -race -trimpath"), valued: texts("-p -tags"), does: Building},
		"vet": {known: true, whole: true, operands: -1, operand: dotted, of: ofPackages,
			long: words("-v -json"), valued: texts("-p -tags -c"), does: Building},
		"fmt":  {known: true, whole: true, operands: -1, operand: dotted, of: ofPackages, long: words("-n -x"), does: Changing},
		"list": {known: true, whole: true, operands: -1, operand: dotted, of: ofPackages, long: words("-m -json -deps -test"), does: Building},
	}},
	"gofmt": {known: true, letters: "lds", operands: -1, shows: named},
	"golangci-lint": {known: true, verbs: map[string]command{
		"run": {known: true, letters: "v", operands: -1, operand: dotted, of: ofPackages, does: Building},
	}},
	"staticcheck": {known: true, operands: -1, operand: dotted, of: ofPackages, does: Building},

	"cargo": {known: true, verbs: map[string]command{
		"build": cargo, "check": cargo, "clippy": cargo, "test": cargo, "bench": cargo, "doc": cargo,
		"fmt": {known: true, letters: "qv", long: words("--all --check"), does: Building},
	}},

	"npm": {known: true, verbs: map[string]command{
		"test": script, "t": script, "run": withName(script), "run-script": withName(script),
	}},
	"yarn": {known: true, verbs: map[string]command{"test": script, "build": script, "lint": script, "typecheck": script, "run": withName(script)}},
	"pnpm": {known: true, verbs: map[string]command{"test": script, "build": script, "lint": script, "typecheck": script, "run": withName(script)}},
	"tsc":  {known: true, whole: true, long: words("--noEmit --build -b --pretty"), operands: -1, operand: here, does: Building},
	"node": {known: true, verbs: map[string]command{"--test": {known: true, operands: -1, operand: one, does: Building}}},

	"python -m unittest": {known: true, letters: "vqfb", valued: texts("-k"), operands: -1, operand: here, of: ofModules, does: Building},

	"pytest": {known: true, letters: "vqxsl", valued: texts("-k -m -n --tb --maxfail --durations"), operands: -1, operand: here, of: ofTests, does: Building,
		long: words("-vv -vvv -qq -ra -rA -rs --lf --ff --sw --co --collect-only --last-failed --failed-first " +
			"--exitfirst --verbose --quiet --no-header --no-summary --disable-warnings")},
	"mypy":   {known: true, long: words("--strict --pretty --ignore-missing-imports"), operands: -1, operand: here, does: Building},
	"black":  {known: true, letters: "q", long: words("--check --diff --quiet"), operands: -1, least: 1, operand: here, does: Building},
	"flake8": {known: true, operands: -1, operand: here, does: Building},
	"pylint": {known: true, operands: -1, operand: here, of: ofModules, does: Building},
	"ruff": {known: true, verbs: map[string]command{
		"check": {known: true, letters: "qv",
			long: words("--fix --diff --quiet --statistics"), valued: texts("--select --ignore"),
			operands: -1, operand: here, does: Building},
		"format": {known: true, letters: "qv", long: words("--check --diff --quiet"), operands: -1, operand: here, does: Building},
	}},

	"make": {known: true, letters: "ksBnw", long: words("-j -j1 -j2 -j4 -j8 -j16 --no-print-directory --silent --dry-run --keep-going"),
		operands: -1, operand: usual, of: ofText, does: Building},
	"./gradlew": gradle, "gradle": gradle, "./mvnw": maven, "mvn": maven,
	"dotnet": {known: true, verbs: map[string]command{"build": dotnet, "test": dotnet}},
}

var (
	cargo = command{known: true, letters: "qv", does: Building, operands: 1,
		operand: here, valued: values{texts: "--features -j", names: "-p --package --bin --test --example"},
		long: words("--release --all --workspace --all-features --all-targets --no-default-features --lib --bins --tests --locked --offline " +
			"--no-run --quiet --verbose --no-deps --doc")}
	script = command{known: true, letters: "s", long: words("--silent --if-present --workspaces"), does: Building}
	gradle = command{known: true, letters: "q", long: words("--quiet --offline --no-daemon --stacktrace --info"), operands: -1,
		least: 1, operand: usual, of: ofText, does: Building}
	maven = command{known: true, letters: "qoB", long: words("--quiet --offline --batch-mode"), operands: -1, least: 1, operand: goal,
		of: ofText, does: Building}
	dotnet = command{known: true,
		long: words("--no-restore --no-build --nologo"), valued: values{texts: "--filter", names: "-c --configuration -v --verbosity"},
		operands: 1, operand: here, does: Building}
)

// withName returns the row of a command that takes a name besides.
func withName(c command) command {
	c.operands, c.least, c.operand, c.of = 1, 1, usual, ofText
	return c
}
