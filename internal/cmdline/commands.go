package cmdline

import "strings"

// shown is the part of files that a command shows.
type shown uint8

const (
	nothing shown = iota // names, sizes, dates
	named                // contents of the files that it names
	unnamed              // contents of files that it does not name
)

// A Doing is the most that a line does.
type Doing string

// The doings, each worse than those before it.
const (
	Reading  Doing = "read"   // nothing changes
	Writing  Doing = "write"  // it creates or overwrites the files of Writes, and records files in git's index
	Changing Doing = "change" // it removes or moves files
	Building Doing = "build"  // it runs code of its folder: a build, tests, hooks of git
)

var doings = []Doing{Reading, Writing, Changing, Building}

// A command is one that only reads, with the options with which it does.
type command struct {
	known    bool
	letters  string            // options of one letter, which may be written together
	long     words             // options as a whole word
	valued   values            // options that need a value, in the next word or after =; with = at the end, never in the next word
	ends     bool              // a word -- ends its options
	whole    bool              // one hyphen begins a whole word
	apart    bool              // the character after a letter is another option, even if the option takes a value
	count    bool              // -20 is a number
	operands int               // how many words it takes beside options; -1: any number
	least    int               // how many it needs
	operand  func(string) bool // which operands it may have; nil: any
	script   bool              // the first word is a script of sed
	shows    shown
	needle   bool               // unnamed, but for the files behind the first word if no option has it look for more
	patch    words              // unnamed, but nothing without one of these options
	brief    words              // and nothing with one of these, if none of patch is there; "": nothing without any
	verbs    map[string]command // the commands of a command

	// For [Understand] alone:
	does    Doing   // "" is Reading
	of      kind    // which files operands lead to
	writes  written // which operands are files that it writes
	history bool    // of git: it shows commits, and operands may name them
	others  bool    // of git: it shows texts that may not be of that history
	git     gitUse
}

// A gitUse is how a command of git, which may run hooks and programs of its settings, uses the index.
type gitUse uint8

const (
	notGit    gitUse = iota
	ofObjects        // it reads no work tree, and no index unless it shows contents
	comparing        // it compares the index with the work tree
	recording        // it writes the index
)

// written says which operands of a command are files that it writes.
type written uint8

const (
	none  written = iota
	every         // all of them
	last          // the last; it reads the others
)

// words are separated by blanks. They are few and seldom looked at, so no map is made of them.
type words string

// has reports whether a word is among them.
func (s words) has(word string) bool {
	for w := range strings.FieldsSeq(string(s)) {
		if w == word {
			return true
		}
	}
	return false
}

// commands are the commands that only read. Not on the list is a command that runs other programs (env, xargs, awk,
// less, time), writes by an option that cannot be told from a word (sort on Windows), waits (tail -f), tells of the
// environment (printenv), or sets something by a word alone (date, hostname).
var commands = map[string]command{
	"pwd":      {known: true, letters: "LP"},
	"whoami":   {known: true},
	"id":       {known: true, letters: "unGgr", operands: 1},
	"uname":    {known: true, letters: "asnrvmpio", long: words("--all")},
	"uptime":   {known: true, letters: "ps"},
	"which":    {known: true, letters: "a", operands: -1},
	"basename": {known: true, operands: 2, least: 1},
	"dirname":  {known: true, operands: -1},
	"realpath": {known: true, letters: "ems", operands: -1},
	"ls": {known: true, ends: true, letters: "aAbBcdfFghHiklLmnNopqQrRsStuUvwxXZ1", operands: -1,
		long: words("--all --almost-all --human-readable --recursive --reverse --size --directory --group-directories-first --color --color=never --color=auto --full-time"), valued: texts("--sort --time --time-style")},
	"tree": {known: true, apart: true, letters: "adfilpsughDFQNCn", valued: texts("-L -I -P --filelimit"), long: words("--dirsfirst --noreport --gitignore --prune"), operands: -1},
	"stat": {known: true, ends: true, letters: "Lftx", valued: texts("-c --format"), operands: -1},
	"du":   {known: true, letters: "abchkmsSxHLlD", valued: texts("-d --max-depth --exclude"), long: words("--all --summarize --human-readable --total --apparent-size"), operands: -1},
	"df":   {known: true, letters: "ahHiklTP", valued: texts("-t -x"), long: words("--human-readable --total"), operands: -1},
	"wc":   {known: true, ends: true, letters: "clmwL", long: words("--bytes --chars --lines --words"), operands: -1, least: 1},
	"file": {known: true, letters: "bihLkrs", long: words("--brief --mime --mime-type"), operands: -1, least: 1},
	"find": {known: true, whole: true, operand: aFolder, operands: -1,
		long: words("-H -L -P -not -a -o -and -or -print -print0 -prune -empty -readable -writable -executable -depth -mount -xdev -nouser -nogroup -daystart -true -false"),
		valued: values{paths: "-newer", texts: "-name -iname -path -ipath -wholename -type -maxdepth -mindepth -size " +
			"-mtime -mmin -ctime -cmin -atime -amin -perm -user -group -regex -iregex -links"}},

	"cat":       {known: true, ends: true, letters: "AbeEnstTuv", long: words("--number --show-all"), operands: -1, least: 1, shows: named},
	"head":      {known: true, ends: true, letters: "qvz", valued: texts("-n -c --lines --bytes"), count: true, operands: -1, least: 1, shows: named},
	"tail":      {known: true, ends: true, letters: "qvzr", valued: texts("-n -c --lines --bytes"), count: true, operands: -1, least: 1, shows: named},
	"nl":        {known: true, valued: texts("-b -w -s -v"), operands: -1, least: 1, shows: named},
	"sed":       {known: true, ends: true, letters: "nEs", operands: -1, least: 2, script: true, shows: named},
	"diff":      {known: true, ends: true, letters: "abBcdeiNqstuwy", valued: texts("-U -C -W"), long: words("--brief --unified --side-by-side --color=never"), operands: 2, least: 2, shows: named},
	"cmp":       {known: true, letters: "bls", valued: texts("-n -i"), operands: 2, least: 2, shows: named},
	"comm":      {known: true, letters: "123i", operands: 2, least: 2, shows: named},
	"cut":       {known: true, ends: true, letters: "sz", valued: texts("-d -f -c -b"), operands: -1, least: 1, shows: named},
	"strings":   {known: true, letters: "a", valued: texts("-n -t"), operands: -1, least: 1, shows: named},
	"md5sum":    {known: true, letters: "bt", operands: -1, least: 1},
	"sha1sum":   {known: true, letters: "bt", operands: -1, least: 1},
	"sha256sum": {known: true, letters: "bt", operands: -1, least: 1},
	"grep":      grep,
	"egrep":     grep,
	"fgrep":     grep,
	"rg": {known: true, ends: true, letters: "niclLwvFosSUuxNHIp", valued: texts("-e -g -t -T -A -B -C -m --glob --type --max-count --context --after-context --before-context --max-depth"),
		long: words("--files --hidden --no-ignore --ignore-case --files-with-matches --count --line-number --fixed-strings --word-regexp --no-heading"), operands: -1, shows: unnamed},

	// Git runs programs that the configuration of the user names, as it does for the user; options that name one, and
	// those before the verb, are not on the list. Of the folder's configuration nothing is known here: see package
	// files.
	"git": {known: true, verbs: map[string]command{
		"status": {known: true, ends: true, letters: "sbu", long: words("--short --branch --porcelain --long --show-stash --ignored"), operands: -1},
		"log": {known: true, git: ofObjects, ends: true, history: true, letters: "pqsz", long: gitLog, valued: gitLogValued, count: true,
			operands: -1, shows: unnamed, patch: gitPatch},
		"show":      {known: true, ends: true, history: true, letters: "pqsz", long: gitLog, valued: gitLogValued, operands: -1, shows: unnamed},
		"diff":      {known: true, ends: true, history: true, letters: "pswbz", long: gitLog, valued: texts("--diff-filter --format= --pretty= -U= --unified="), operands: -1, shows: unnamed, patch: gitPatch, brief: gitBrief},
		"shortlog":  {known: true, git: ofObjects, history: true, letters: "sne", operands: -1},
		"branch":    {known: true, git: ofObjects, others: true, letters: "arv", long: words("--all --remotes --list --show-current -vv")},
		"tag":       {known: true, git: ofObjects, others: true, letters: "l", long: words("--list")},
		"remote":    {known: true, git: ofObjects, letters: "v", shows: unnamed, patch: words("-v")}, // addresses, and passwords in them
		"rev-parse": {known: true, git: ofObjects, long: words("--show-toplevel --abbrev-ref --short --is-inside-work-tree --git-dir"), operands: -1},
		"ls-files":  {known: true, ends: true, letters: "comsdt", long: words("--others --cached --modified --exclude-standard"), operands: -1},
		"ls-tree":   {known: true, git: ofObjects, ends: true, history: true, letters: "rdtl", long: words("--name-only"), operands: -1},
		"blame":     {known: true, ends: true, history: true, letters: "wel", valued: texts("-L"), operands: -1, shows: unnamed},
		"describe":  {known: true, others: true, long: words("--tags --always --dirty --all --long"), operands: -1},
	}},
}

// grep shows contents of the files that it names, and with -r of others too.
var grep = command{known: true, ends: true, needle: true, letters: "EFGPivwxcnHhlLoqsrRaIU", operands: -1, least: 1, shows: unnamed,
	valued: texts("-e -A -B -C -m --include --exclude --exclude-dir --max-count --after-context --before-context --context="),
	long:   words("--ignore-case --line-number --recursive --count --files-with-matches --only-matching --word-regexp --fixed-strings --extended-regexp --invert-match --no-filename --color=never --color=auto")}

var (
	gitLog = words("--oneline --stat --shortstat --numstat --summary --graph --all --decorate --name-only --name-status --patch --no-patch --no-merges --merges --reverse " +
		"--follow --cached --staged --no-color --no-ext-diff --no-textconv --color=never --first-parent --abbrev-commit --branches --tags --remotes --relative-date --word-diff --ignore-all-space --no-pager --pretty")
	gitPatch     = words("-p -S -G -U --patch --word-diff --unified")
	gitBrief     = words("--stat --shortstat --numstat --summary --name-only --name-status")
	gitLogValued = texts("-n -S -G --since --until --after --before --author --grep --max-count --skip --date --diff-filter " +
		"--format= --pretty= -U= --unified=")
)
