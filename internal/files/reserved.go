package files

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/speech"
)

// scripted is the variable by which a script says that its weir approve --yes counts.
const scripted = "WEIR_SCRIPTED_APPROVAL"

// reserved are the commands of Weir by which a person decides, loosens something or changes the log, and weir hook,
// which is a host's.
var reserved = [][]string{{"approve"}, {"deny"}, {"console"}, {"hook"}, {"serve", "--stop"}, {"uninstall"}, {"install", "--no-hooks"},
	{"annotate", "--accept"}, {"annotate", "--forget"}, {"review", "--accept"}, {"reload", "--accept"},
	{"audit", "adopt"}, {"audit", "anchor"}, {"audit", "erase"}, {"audit", "rotate"},
	{"detect", "accept"}, {"detect", "exceptions", "remove"}, {"folders", "confirm"}, {"folders", "remove"}, {"labels", "clear"},
	{"service", "install"}, {"service", "uninstall"}, {"servers", "restore"},
	{"session", "declassify"}, {"session", "end"}, {"session", "forget"}, {"session", "new"},
	{"state", "init"}, {"state", "prune"}, {"state", "rebuild"}, {"state", "restore"}}

// isProgram reports whether a word of a command names Weir's program, by any path.
func isProgram(word string) bool {
	base := strings.ToLower(word[strings.LastIndexAny(word, `/\`)+1:])
	return strings.TrimSuffix(base, ".exe") == "weir"
}

// orders returns the reserved command of Weir that a call would give, "" if none: in one text, or with program and
// arguments in several.
func orders(t guard.Touch) string {
	var b strings.Builder
	for _, a := range t.Texts {
		if !a.Name && slices.ContainsFunc(speech.NameWords(a.Path), func(w string) bool { return slices.Contains(shellNames, w) }) {
			b.WriteString(a.Text + " ")
		}
	}
	for _, text := range appendNew(nil, b.String(), quotes.Replace(b.String())) {
		if strings.Contains(text, scripted) {
			return "weir's variable " + scripted
		}
		for segment := range segments(text) {
			words := tokensOf(segment)
			for i, word := range words {
				at := slices.IndexFunc(reserved, func(command []string) bool { return isProgram(word) && isCommandOf(words[i+1:], command) })
				if at >= 0 {
					return "weir's command " + strings.Join(reserved[at], " ") + ", which is for a person"
				}
			}
		}
	}
	return ""
}

// isCommandOf reports whether words are a command of Weir: its words in their order with nothing between them but
// options, each with a value at most, and its option anywhere.
func isCommandOf(words, command []string) bool {
	if option := command[len(command)-1]; option[0] == '-' {
		command = command[:len(command)-1]
		if !slices.ContainsFunc(words, func(w string) bool { return w == option || strings.HasPrefix(w, option+"=") }) {
			return false
		}
	}
	value := false // the next word may be that of an option
	for _, word := range words {
		switch option := strings.HasPrefix(word, "-"); {
		case word == command[0]:
			if command = command[1:]; len(command) == 0 {
				return true
			}
		case !option && !value:
			return false
		default:
			value = option && !strings.Contains(word, "=")
			continue
		}
		value = false
	}
	return false
}
