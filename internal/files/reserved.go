package files

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/speech"
)

// Scripted is the variable by which a script says that its weir approve --yes counts.
const Scripted = "WEIR_SCRIPTED_APPROVAL"

// reserved are the commands of Weir by which a person decides, loosens something or changes the log, and weir hook,
// which is a host's. Their words count in any order, with anything between them.
var reserved = [][]string{{"approve"}, {"deny"}, {"console"}, {"hook"}, {"serve", "--stop"}, {"uninstall"}, {"install", "--no-hooks"},
	{"annotate", "--accept"}, {"annotate", "--forget"}, {"review", "--accept"}, {"reload", "--accept"},
	{"audit", "adopt"}, {"audit", "anchor"}, {"audit", "erase"}, {"audit", "rotate"},
	{"detect", "accept"}, {"detect", "exceptions", "remove"}, {"folders", "confirm"}, {"folders", "remove"}, {"labels", "clear"},
	{"run", "--console"}, {"wrap", "--console"}, {"service", "install"}, {"service", "uninstall"}, {"servers", "restore"},
	{"session", "declassify"}, {"session", "end"}, {"session", "forget"}, {"session", "new"},
	{"state", "backup", "--keys"}, {"state", "init"}, {"state", "prune"}, {"state", "rebuild"}, {"state", "restore"}}

// Words in the names of arguments and tools.
var (
	// operandNames are names of arguments that follow the command of a call.
	operandNames = []string{"args", "argv", "argument", "arguments", "parameters", "flags"}

	// programNames are names of arguments that say what is run or typed, beside shellNames.
	programNames = []string{"executable", "binary", "cmdline", "commandline", "keys", "keystrokes", "chars", "lines", "process"}

	// proseNames are names of arguments that are read, unless the call runs something.
	proseNames = []string{"content", "contents", "text", "body", "message", "messages", "title", "description", "subject", "comment", "summary",
		"prompt", "note", "notes", "query", "question", "pattern", "path", "paths", "file", "filename", "url", "uri", "markdown", "html", "string"}

	// reasonNames are names of arguments that tell people why a command is run.
	reasonNames = []string{"description", "explanation", "justification", "reason"}

	// runners are words in the names of tools that run something or type it.
	runners = []string{"run", "runs", "exec", "execute", "eval", "evaluate", "shell", "bash", "zsh", "sh", "powershell", "pwsh", "terminal", "tmux",
		"screen", "pty", "spawn", "launch", "start", "process", "command", "commands", "cmd", "console", "ssh", "keys", "key", "type", "stdin", "script",
		"code", "job", "cron", "schedule", "python", "node", "invoke"}
)

// orders returns the reserved command of Weir that a call would give, "" if none.
func orders(t guard.Touch) string {
	call := said(t)
	if call.everything == "" {
		return ""
	}
	o := newOrder(call.everything)
	for _, form := range formsOf(call.everything) {
		if folded := strings.ToUpper(form); strings.Contains(folded, Scripted[:13]) || strings.Contains(folded, Scripted[5:]) {
			return "weir's variable " + Scripted
		}
	}
	looked := call.looked
	if strings.TrimSpace(looked) == strings.TrimSpace(call.command) && !o.repeats() {
		looked = withoutFolders(looked)
	}
	for _, form := range formsOf(looked) {
		o.read(form)
	}
	if o.named {
		for _, command := range reserved {
			if !slices.ContainsFunc(command, func(w string) bool { return !o.words[w] }) {
				return "weir's command " + strings.Join(command, " ") + ", which is for a person"
			}
		}
	}
	if o.starts(call.command) {
		return "weir run, or weir with a command that the text does not show, which are for a person"
	}
	return ""
}

// An utterance is the texts of a call.
type utterance struct {
	everything string // but content
	looked     string // those that may be part of a command
	command    string // those that are a command, and its arguments behind it
}

// said sorts the texts of a call.
func said(t guard.Touch) utterance {
	has := func(path string, lists ...[]string) bool {
		words := speech.NameWords(path)
		return slices.ContainsFunc(lists, func(list []string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
		})
	}
	isOrder := func(a guard.Text) bool {
		return !a.Name && (has(a.Path, shellNames) || !a.Content && has(a.Path, programNames, operandNames))
	}
	runs := has(t.Name, runners) || slices.ContainsFunc(t.Texts, isOrder)
	var everything, looked, command, operands strings.Builder
	for _, a := range t.Texts {
		switch order := isOrder(a); {
		case order && has(a.Path, operandNames):
			operands.WriteString(a.Text + " ")
		case order:
			command.WriteString(a.Text + " ")
		case a.Content:
			continue
		}
		everything.WriteString(a.Text + "\n")
		if runs && !has(a.Path, reasonNames) || t.Changes && !has(a.Path, proseNames, placeNames, reasonNames) {
			looked.WriteString(a.Text + "\n")
		}
	}
	return utterance{everything.String(), looked.String(), command.String() + operands.String()}
}

// Spellings that shells leave out of words.
var (
	continued  = strings.NewReplacer("\\\r\n", "", "\\\n", "", "`\r\n", "", "`\n", "", "^\r\n", "", "^\n", "")
	expansions = pattern.New("\\$\\{[^}]*\\}|\\$\\([^()]*\\)|`[^`]*`|\\$\\w+|\\$[@*#?!$-]|%\\w+%")
)

// formsOf returns a text as it is, with the signs of shells left out, and with expansions left out too.
func formsOf(text string) []string {
	text = continued.Replace(text)
	return appendNew(nil, text, withoutSigns(text), withoutSigns(expansions().ReplaceAllString(text, "")))
}

// withoutSigns leaves out the signs that a shell may leave out of a word.
func withoutSigns(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("\"'\\`^{}[]$,*?!@+%~", r) {
			return -1
		}
		return r
	}, text)
}

// An order is a call as it is read for commands of Weir.
type order struct {
	repeats func() bool     // whether the text may run words of it once more
	named   bool            // Weir's program
	words   map[string]bool // of reserved commands
	steps   int             // words that were looked at, once for each look
}

func newOrder(text string) order {
	return order{repeats: sync.OnceValue(func() bool { return repetitions().MatchString(text) }), words: map[string]bool{}}
}

// reservedWords are the words of reserved commands.
var reservedWords = slices.Concat(reserved...)

// read takes in the words of a text: they end at each sign but those of names, options and paths.
func (o *order) read(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		blanks := strings.Fields(line)
		for i, blank := range blanks {
			for word := range strings.FieldsFuncSeq(blank, isSign) {
				o.steps++
				o.named = o.named || isProgram(word) && (!isEntered(blanks, i) || o.repeats())
				if lower := strings.ToLower(word); slices.Contains(reservedWords, lower) {
					o.words[lower] = true
				}
			}
		}
	}
}

// isEntered reports whether a word of a line is the folder that a cd of its own changes to.
func isEntered(words []string, i int) bool {
	if i == 0 || words[i-1] != "cd" && words[i-1] != "pushd" || strings.ContainsFunc(strings.Trim(words[i], "~;"), isSign) {
		return false
	}
	ends := func(word string) bool {
		return strings.HasSuffix(word, ";") || slices.Contains([]string{"&&", "||", "|"}, word)
	}
	return (i == 1 || ends(words[i-2])) && (i+1 == len(words) || ends(words[i]) || ends(words[i+1]))
}

// repetitions stand in shells for words of elsewhere in a text: the last word, parameters, the history, the folder that
// is entered, and other names of commands.
var repetitions = pattern.New("[$]\\{?[_$^@*#!0-9]|!|PWD|BASH_|~\\+|\\bpwd\\s*[|)`]|[$]history|\\bhistory\\s*[|>0-9]|\\bfc\\s+-|\\balias\\s+\\S+=")

// withoutFolders leaves the folders of git -C out of a command, as far as it is plain: up to there each word stands for
// itself, so git it is that runs, and takes the word for a folder.
func withoutFolders(text string) string {
	plain := strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ./~=@:,+-_&;", r)
	})
	if plain < 0 {
		plain = len(text)
	}
	words := strings.SplitAfter(text[:plain], " ")
	for i := 2; i < len(words); i++ {
		first := i == 2 || words[i-3] == "&& " || strings.HasSuffix(words[i-3], "; ")
		if first && words[i-2] == "git " && words[i-1] == "-C " && strings.HasSuffix(words[i], " ") && !strings.ContainsAny(words[i], "&;") {
			words[i] = " "
		}
	}
	return strings.Join(words, "") + text[plain:]
}

// isSign reports whether a sign is in no name, option, path or pattern of a file.
func isSign(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./*?", r)
}

// isProgram reports whether a word of a command names Weir's program, by any path, or by a pattern that fits it.
func isProgram(word string) bool {
	base := word[strings.LastIndexAny(word, `/\`)+1:]
	if len(base) > 64 {
		return false
	}
	base = strings.ToLower(base)
	base, _, _ = strings.Cut(base, "@") // a version
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1", ".js"} {
		base = strings.TrimSuffix(base, ending)
	}
	if base == "weir" || base == "weir-mcp" {
		return true
	}
	return strings.ContainsAny(base, "*?") && strings.ContainsFunc(base, unicode.IsLetter) && matches(base, "weir")
}

// Programs that run others.
var (
	// wrappers run a command that is among their arguments.
	wrappers = []string{"env", "sudo", "doas", "su", "nohup", "setsid", "npx", "bunx", "uvx", "timeout", "nice", "ionice", "stdbuf", "exec", "eval",
		"command", "builtin", "strace", "script", "watch", "busybox", "sh", "bash", "zsh", "dash", "cmd", "powershell", "pwsh", "start", "tmux",
		"screen", "chroot", "unshare", "nsenter", "flock", "expect", "go", "npm", "pnpm", "yarn", "bun", "docker", "podman"}

	// feeders run a command with arguments from elsewhere.
	feeders = []string{"xargs", "parallel"}

	// readers are programs that take the words of feeders for patterns and files.
	readers = []string{"grep", "egrep", "fgrep", "cat", "head", "tail", "wc"}

	// keywords of shells stand in front of a command.
	keywords = []string{"if", "then", "elif", "else", "while", "until", "do", "!", "time", "coproc"}
)

// hiding are signs that put something into a command, or take something out of it, that its text does not show.
const hiding = "$*?[{`"

// starts reports whether a command runs Weir in a way whose text does not show which of its commands, or weir run,
// which serves the console if its configuration says so.
func (o *order) starts(text string) bool {
	for segment := range strings.FieldsFuncSeq(continued.Replace(text), func(r rune) bool { return strings.ContainsRune(";|&\n()", r) }) {
		if o.startsIn(strings.Fields(segment)) {
			return true
		}
	}
	return false
}

// startsIn looks at the words of a part of a command, each once.
func (o *order) startsIn(words []string) bool {
	first, wraps, feeds, running, settled := true, false, false, false, false
	if read := fedTo(words); slices.Contains(readers, read) {
		return false
	}
	for i, word := range words {
		o.steps++
		bare := strings.Trim(word, `"'[]{},$`+"`")
		base := bare[strings.LastIndexAny(bare, `/\`)+1:]
		switch {
		case running && word == "--":
			return false // another program's
		case running:
			if strings.Contains(word, "`") || !settled && strings.ContainsAny(word, hiding) {
				return true
			}
		case (first || wraps) && (isProgram(bare) || isProgram(withoutSigns(bare))):
			next := "" // nothing
			if i+1 < len(words) {
				next = strings.Trim(words[i+1], `"',]`)
			}
			if feeds || next == "run" || first && !isPlain(next) {
				return true
			}
			running = !isPlain(next) || next[0] == '-' || slices.ContainsFunc(reserved, func(command []string) bool { return command[0] == next })
			settled = running && i+2 < len(words) && isSettled(next, words[i+2])
			first = false
		case first && strings.ContainsAny(bare, "<>"):
			wraps = true // behind a redirection
		case bare == "" || strings.Contains(bare, "=") || slices.Contains(keywords, bare):
		default:
			feeds = feeds || (first || wraps) && slices.Contains(feeders, base)
			wraps = wraps || feeds || first && slices.Contains(wrappers, base)
			first = false
		}
	}
	return false
}

// feederPlain are the options of xargs behind which the next word is an option or the program.
var feederPlain = pattern.New(`^(?:-[0rtx]+|--null|--no-run-if-empty|-[nPL][0-9]+|-I\{\})$`)

// fedTo returns the program that xargs at the beginning of a command runs, "" if its options leave that open.
func fedTo(words []string) string {
	if len(words) == 0 || words[0] != "xargs" {
		return ""
	}
	for words = words[1:]; len(words) > 0 && feederPlain().MatchString(words[0]); {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// isSettled reports whether two words are a whole command of Weir that has no form for people, whatever follows.
func isSettled(first, second string) bool {
	group := false
	for _, command := range reserved {
		if command[0] != first {
			continue
		}
		if len(command) == 1 || strings.HasPrefix(command[1], "-") || command[1] == second {
			return false
		}
		group = true
	}
	return group && isPlain(second) && second[0] != '-'
}

// isPlain reports whether a word is a command as it reads, or asks for the help or the version.
func isPlain(word string) bool {
	isLetter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' }
	return word == "--help" || word == "-h" || word == "--version" ||
		word != "" && word[0] != '-' && strings.IndexFunc(word, func(r rune) bool { return !isLetter(r) }) < 0
}
