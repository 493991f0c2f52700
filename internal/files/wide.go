package files

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// anyName stands for a part of a word that a shell puts in from elsewhere: it may be any text.
const anyName = "\x01"

// maxExpanded is how long a command may be of which the expansions are looked at, in bytes.
const maxExpanded = 4 << 10

// maxBases is from how many folders the words of one command are looked up.
const maxBases = 16

// goers go to another folder.
var goers = []string{"cd", "pushd", "chdir", "sl", "set-location", "push-location"}

// expansions are the parts of a word that a shell replaces, each in the widest reading: commands, variables and quoted
// signs; patterns in brackets of any kind, lists and ranges.
var (
	putIn     = pattern.New("\\$\\([^()]*\\)|`[^`]*`|\\$\\{[^{}]*\\}|\\$'[^']*\\\\[^']*'|\\$[A-Za-z_][A-Za-z0-9_]*|\\$[0-9@*#?$!-]")
	selection = pattern.New(`[?*+@!]\([^()]*\)|\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}|<[0-9]*-[0-9]*>`)
	sameText  = pattern.New(`\$(['"])`)
)

// widened returns a command with the widest pattern for each part of it that a shell replaces, and without quotes.
func widened(text string) string {
	for range 4 { // one in another
		before := text
		text = putIn().ReplaceAllStringFunc(text, func(part string) string {
			if slices.Contains(homes, part) {
				return part
			}
			return anyName
		})
		text = selection().ReplaceAllString(text, anyName)
		if text == before {
			break
		}
	}
	text = brackets().ReplaceAllString(sameText().ReplaceAllString(text, "$1"), "?")
	return quotes.Replace(text)
}

// isWide reports whether a word of a widened command is a pattern.
func isWide(word string) bool { return strings.ContainsAny(word, "*?"+anyName) }

// goes returns the folders in which a command may run parts of itself, beside those in which it begins.
func goes(c *check, text string) []string {
	at := c.site
	for segment := range strings.FieldsFuncSeq(text, isBreak) {
		tokens := strings.FieldsFunc(segment, isGap)
		for i, token := range tokens {
			if !slices.Contains(goers, strings.ToLower(token)) {
				continue
			}
			to := "~"
			if args := operands(tokens[i+1:]); len(args) > 0 {
				to = args[0]
			}
			if at.bases = appendNew(slices.Clip(at.bases), c.absolutes(to, at)...); len(at.bases) > maxBases {
				return at.bases[:maxBases]
			}
			break
		}
	}
	return at.bases
}

func isBreak(r rune) bool { return strings.ContainsRune(";|&\n", r) }

func isGap(r rune) bool { return strings.ContainsRune(" \t\r()\"'`{},<>", r) }

// wide looks at each pattern among the words of a widened command. A command that changes nothing may look at Weir's
// files by a pattern, but not into its folders.
func wide(c *check, text string, changes bool) string {
	for _, signs := range []string{" \t\r\n;|&<>(),", " \t\r\n;|&<>(),=:@"} {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(signs, r) }) {
			if !isWide(word) || !strings.Contains(word, "/") || len(word) > maxPath {
				continue
			}
			if own := fits(c, word, false, changes); own != "" {
				return own
			}
		}
	}
	return ""
}

// expanded looks at a widened command.
func expanded(c *check, text string) string {
	for _, why := range []func() string{
		func() string { return c.names(text, true) },
		func() string { return wide(c, text, changes(text)) },
		func() string { return findsAway(c, text) },
		func() string { return c.acts(text, true) },
	} {
		if own := why(); own != "" {
			return own
		}
	}
	return ""
}

// around says which of Weir's own files a word leads to, or is around.
func around(c *check, word string, wide bool) string {
	if wide && isWide(word) {
		return fits(c, word, true, true)
	}
	return c.path(word, true)
}

// A step is a name of a pattern of a path.
type step struct {
	name  string
	given bool // by the word itself, rather than its base
}

// fits returns which of Weir's own files a pattern may stand for, or lead into, or be around if it is taken away.
func fits(c *check, word string, takes, changes bool) string {
	for _, abs := range c.absolutes(word, c.site) {
		base, _ := strings.CutSuffix(abs, word)
		for _, host := range appendNew(c.site.hosts(abs), hostName(abs)...) {
			steps := stepsOf(host, len(base))
			for i := range c.own.own {
				o := &c.own.own[i]
				if o.file.kind != folder && (!changes || len(steps) > strings.Count(o.path, sep) || strings.HasSuffix(word, "/")) {
					continue
				}
				if leadsInto(steps, o.path, takes) || leadsInto(steps, o.clean, takes) {
					return o.name
				}
			}
		}
	}
	return ""
}

// stepsOf returns the names of an absolute path, of which the first bytes are those of a base, without steps that lead
// nowhere. A base may have links, and is not followed.
func stepsOf(path string, base int) (all []step) {
	begin := 0
	for i := 0; i <= len(path); i++ {
		if i < len(path) && !isSeparator(rune(path[i])) {
			continue
		}
		switch name := path[begin:i]; name {
		case "", ".":
		case "..":
			all = all[:max(0, len(all)-1)]
		default:
			all = append(all, step{name, begin >= base})
		}
		begin = i + 1
	}
	return all
}

// leadsInto reports whether a pattern may stand for a path, or one below it, or one around it. A name that may be any
// counts only beside another that is told.
func leadsInto(steps []step, own string, takes bool) bool {
	names := strings.FieldsFunc(own, isSeparator)
	if len(steps) < len(names) && !takes || len(steps) == 0 {
		return false
	}
	anyOne, told := false, false
	for i, s := range steps[:min(len(steps), len(names))] {
		switch {
		case s.name == anyName:
			anyOne = true
			continue
		case isWide(s.name):
			if names[i][0] == '.' && strings.ContainsAny(s.name[:1], "*?") || !matches(strings.ReplaceAll(s.name, anyName, "*"), names[i]) {
				return false
			}
		case !sameName(s.name, names[i]):
			return false
		}
		told = told || s.given && strings.Trim(s.name, "*?"+anyName) != ""
	}
	return told || !anyOne
}

// beforeStarts matches options of find that stand before the folders in which it begins.
var beforeStarts = pattern.New(`^-(-?|[EHLPXdfsx]+|O[0-9]|D)$`)

// findsAway looks for a search for files that deletes them. Of names that it wants, one has to be on the way
// to Weir's files.
func findsAway(c *check, text string) string {
	for segment := range strings.FieldsFuncSeq(text, isBreak) {
		tokens := strings.FieldsFunc(segment, isGap)
		i := slices.Index(tokens, "find")
		removes := func(t string) bool { return slices.Contains(removers, strings.TrimPrefix(filepath.Base(t), "-")) }
		if i < 0 || !slices.ContainsFunc(tokens[i:], removes) && !(strings.Contains(text, "xargs") && slices.ContainsFunc(strings.Fields(text), removes)) {
			continue
		}
		for tokens = tokens[i+1:]; len(tokens) > 0 && beforeStarts().MatchString(tokens[0]); {
			tokens = tokens[1:]
		}
		options := slices.IndexFunc(tokens, func(t string) bool { return t[0] == '-' || t == "!" })
		if options < 0 {
			options = len(tokens)
		}
		if !wants(c, tokens[options:]) {
			continue
		}
		for _, start := range tokens[:options] {
			if filepath.Clean(start) == "." {
				continue // ordinary work, and it is not sure in which folder
			}
			if why := around(c, start, true); why != "" {
				return why
			}
		}
	}
	return ""
}

// wants reports whether the tests of a search for files may hold for one of Weir's own, or for a folder around it.
func wants(c *check, tests []string) bool {
	filtered := false
	for i, test := range tests[:max(0, len(tests)-1)] {
		switch test {
		case "-path", "-wholename", "-ipath", "-regex", "-iregex":
			filtered = true
		case "-name", "-iname":
			filtered = true
			glob := strings.ReplaceAll(tests[i+1], anyName, "*")
			for o := range c.own.own {
				names := append(strings.FieldsFunc(c.own.own[o].path, isSeparator), "state.db")
				if slices.ContainsFunc(names, func(name string) bool { return matches(glob, name) }) {
					return true
				}
			}
		}
	}
	return !filtered
}
