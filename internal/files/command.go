package files

import (
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/speech"
)

// Words in the names of tools, and in commands, in lower case.
var (
	// removers delete their arguments.
	removers = []string{"rm", "rmdir", "unlink", "rmtree", "remove", "removeall", "delete", "del", "erase", "rd", "ri", "shred", "trash", "purge", "wipe",
		"discard", "destroy", "clean"}

	// movers move, replace or hide their first argument.
	movers = []string{"mv", "move", "rename", "renames", "ren", "mi", "rni", "ln", "link", "symlink", "mount", "umount", "archive", "replace", "swap",
		"chmod", "chown", "chgrp", "chattr", "setfacl", "icacls", "takeown", "attrib"}

	// writers change files.
	writers = []string{"sed", "tee", "truncate", "dd", "cp", "copy", "install", "rsync", "perl", "patch", "write", "save", "touch", "tar", "unzip"}

	// signals end, stop or look into processes.
	signals = []string{"kill", "pkill", "killall", "skill", "xkill", "taskkill", "terminate", "signal", "renice", "gdb", "lldb", "strace", "ptrace", "sigkill",
		"spps", "stop"}

	// commandNames are names of arguments that hold commands or code. Those of queryNames hold none of a shell.
	commandNames = slices.Concat(shellNames, queryNames)
	shellNames   = []string{"command", "commands", "cmd", "script", "shell", "code", "exec", "execute", "bash", "args", "argv", "program", "source_code", "run",
		"stdin", "input"}
	queryNames = []string{"sql", "query", "queries", "statement", "statements", "expression"}

	// placeNames are names of arguments that give the folder in which a call works, rather than its target.
	placeNames = []string{"cwd", "workdir", "root", "base", "repo", "repository", "workspace", "project", "destination", "dest", "into", "to", "dir"}
)

// takesAway reports whether a call may take away a whole folder: by its contract it changes something, and by its name
// it moves or removes.
func takesAway(t guard.Touch) bool {
	return t.Changes && slices.ContainsFunc(speech.NameWords(t.Name), func(w string) bool { return slices.Contains(removers, w) || slices.Contains(movers, w) })
}

// isPlace reports whether an argument gives the folder in which the call works, and other arguments its targets.
func (c *check) isPlace(a guard.Text) bool {
	others := slices.ContainsFunc(c.touch.Texts, func(b guard.Text) bool { return b.Path != a.Path && !b.Name })
	return others && slices.ContainsFunc(speech.NameWords(a.Path), func(w string) bool { return slices.Contains(placeNames, w) })
}

// isCommand reports whether an argument of that name holds a command.
func isCommand(path string) bool {
	return slices.ContainsFunc(speech.NameWords(path), func(w string) bool { return slices.Contains(commandNames, w) })
}

// maxText is how long a text may be of which each word is looked up on the disk, in bytes, unless it is a command.
const maxText = 64 << 10

// quotes are left out of the words of a command.
var quotes = strings.NewReplacer(`"`, "", `'`, "", `\`, "", "`", " ")

// command returns which of Weir's own files a command, or a text that may be one, names. It does not see paths that a
// program computes as it runs.
func (c *check) command(text string, surely bool) string {
	unquoted := quotes.Replace(text)
	if surely && len(text) <= maxExpanded {
		begun := c.site.bases
		if bases := goes(c, unquoted); len(bases) > len(begun) {
			c.site.bases, c.looked = bases, nil
			defer func() { c.site.bases, c.looked = begun, nil }()
		}
		if why := expanded(c, widened(text)); why != "" {
			return why
		}
	}
	for _, form := range appendNew(nil, text, unquoted) {
		if why := c.names(form, surely); why != "" {
			return why
		}
		if !surely {
			continue
		}
		if why := c.acts(form, false); why != "" {
			return why
		}
	}
	return ""
}

// toNowhere matches redirections that change no file.
var toNowhere = pattern.New(`[12]?>&[12]($|[\s;|&)])|[&12]?>>? ?/dev/null($|[\s;|&)])`)

// changes reports whether a command may change files.
func changes(text string) bool {
	return slices.ContainsFunc(speech.NameWords(text), func(w string) bool {
		return slices.Contains(removers, w) || slices.Contains(movers, w) || slices.Contains(writers, w)
	}) || strings.Contains(toNowhere().ReplaceAllString(text, ""), ">")
}

// names looks at each word of a text.
func (c *check) names(text string, surely bool) string {
	changes := surely && changes(text)
	for _, signs := range []string{" \t\r\n;|&<>()\"'`{},", " \t\r\n;|&<>()\"'`{},=:[]@"} {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(signs, r) }) {
			if len(word) > maxPath {
				continue
			}
			if c.isNamed(word, surely, changes) {
				return "the file that " + word + " names"
			}
			if !surely && (len(text) > maxText || !strings.ContainsAny(word, `/\~`)) {
				continue
			}
			if why := c.path(word, false); why != "" {
				return why
			}
		}
	}
	return ""
}

// isNamed reports whether a word ends in the name of one of Weir's own files. A name that could be anybody's counts in
// a command only, and not where a whole path says that it is another.
func (c *check) isNamed(word string, surely, changes bool) bool {
	slashed := strings.ReplaceAll(word, `\`, "/")
	base := slashed[strings.LastIndexByte(slashed, '/')+1:]
	if isAbsolute(word) {
		return false
	}
	for i := range c.owns {
		own := &c.owns[i]
		switch {
		case !surely && !own.telling:
		case sameName(base, own.base) && (own.telling || filepath.Ext(own.base) != "" || changes):
			return true
		case changes && (base == slashed || len(c.site.bases) == 0) && strings.ContainsAny(base, "*?[") && matches(base, own.base): // others: see wide
			return true
		}
	}
	return false
}

// brackets are the parts of a pattern of a shell that fit one character: the widest reading, since shells differ.
var brackets = pattern.New(`\[[!^]?\]?(\[[:.=][^\]]*\]|[^\]])*\]`)

// matches reports whether a pattern of a shell fits a name. A bracket that is not closed stands for itself.
func matches(glob, name string) bool {
	glob = strings.ReplaceAll(brackets().ReplaceAllString(strings.ToLower(glob), "?"), "[", `\[`)
	ok, err := path.Match(glob, strings.ToLower(name))
	return ok || err != nil
}

// acts looks for commands that take away a folder around Weir's own files, or end its process. In a wide text words
// may be patterns.
func (c *check) acts(text string, wide bool) string {
	hits := sync.OnceValue(func() bool { return c.hits(text) })
	for segment := range segments(text) {
		tokens := tokensOf(segment)
		for i, token := range tokens {
			verb := strings.ToLower(token[strings.LastIndexAny(token, "./\\-")+1:])
			moves := slices.Contains(movers, verb)
			switch {
			case slices.Contains(signals, verb):
				if hits() || hitsByPattern(verb, tokens[i+1:]) {
					return "weir's own process"
				}
				continue
			case !moves && !slices.Contains(removers, verb):
				continue
			}
			args := operands(tokens[i+1:])
			if n := len(args); moves && n > 1 && !slices.ContainsFunc(tokens[i+1:], namesTarget) {
				args = args[:n-1]
			}
			for _, arg := range args {
				if why := around(c, arg, wide); why != "" {
					return why
				}
			}
			break
		}
	}
	return ""
}

// segments are the parts of a command that run beside each other.
func segments(text string) iter.Seq[string] { return strings.FieldsFuncSeq(text, isBreak) }

// tokensOf returns the words of a part of a command, or of code.
func tokensOf(segment string) []string { return strings.FieldsFunc(segment, isGap) }

// namesTarget reports whether an option names the folder to which a command moves all of its operands.
func namesTarget(option string) bool {
	return strings.HasPrefix(option, "--t") || strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--") && strings.Contains(option, "t")
}

// operands leaves out options, which are none behind --.
func operands(tokens []string) (all []string) {
	for i, t := range tokens {
		if t == "--" {
			return append(all, tokens[i+1:]...)
		}
		if !strings.HasPrefix(t, "-") {
			all = append(all, t)
		}
	}
	return all
}
