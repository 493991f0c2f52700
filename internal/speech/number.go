package speech

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// sameKind are the everyday words for kinds of things that the arguments of tools call otherwise.
var sameKind = map[string][]string{
	"pull": {"pr", "pull request", "pull"}, "pr": {"pr", "pull request"},
	"merge": {"mr", "merge request"}, "mr": {"mr", "merge request"},
}

var (
	// idWords are words in the names of arguments that say how a thing is named, and not of which kind it is.
	idWords = set("id ids iid number num no nr key index")

	// countWords may stand between the word for a kind and the number, and joinWords between two numbers.
	countWords = set("number no nr num id nummer numéro número")
	joinWords  = set("and or und oder et ou y o e")

	// units are words that make the number before them an amount.
	units = set(`second seconds minute minutes min hour hours h day days week weeks month months year years time times percent pct euro euros
		dollar dollars pound pounds usd eur kb mb gb item items piece pieces person people user users page pages line lines of more other others`)

	// counted are kinds of things that have numbers: before # they say that it is one of those.
	counted = set(`issue ticket pr pull mr merge request case task story bug comment discussion order invoice build run job release milestone alert
		incident chapter step version card epic`)
)

// NamesNumber reports whether one of the texts names a thing by its number: the number stands there as a whole, behind
// a word for the kind of thing that the argument has in its name (issue 77 for issue_number, tickets 12 and 77 for
// ticket_id), or, of things that have numbers, behind # with no word for another kind before it.
func NamesNumber(texts []string, argument, number string) bool {
	kinds := kindsOf(argument)
	if len(kinds) == 0 || number == "" || len(number) > 9 || !isDigits(number) {
		return false
	}
	for _, text := range texts {
		for at := 0; ; {
			i := strings.Index(text[at:], number)
			if i < 0 {
				break
			}
			i += at
			at = i + len(number)
			if wholeNumber(text, i, at) && numbered(near(text[:i]), kinds) {
				return true
			}
		}
	}
	return false
}

// nearby is how many bytes before and after a number are looked at.
const nearby = 128

// near returns the last words of a text.
func near(before string) string {
	if len(before) <= nearby {
		return before
	}
	_, words, _ := strings.Cut(before[len(before)-nearby:], " ")
	return words
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// wholeNumber reports whether text[i:j] is a number of its own: no part of another, of a date, a time or an amount.
func wholeNumber(text string, i, j int) bool {
	if i > 0 && text[i-1] == '#' {
		return whole(text, i-1, j)
	}
	after := wordsOf(firstClause(text[j:min(j+nearby, len(text))]))
	if len(after) > 0 && units()[after[0]] || strings.HasPrefix(text[j:], "$") || strings.HasPrefix(text[j:], "%") {
		return false
	}
	before, n := utf8.DecodeLastRuneInString(text[:i])
	return whole(text, i, j) && (n == 0 || !strings.ContainsRune("$€£:,", before))
}

// numbered reports whether the words before a number say that it is the number of a thing of one of the kinds.
func numbered(before string, kinds []string) bool {
	bare := strings.TrimSuffix(before, "#")
	if i := strings.LastIndexAny(bare, ".;:!?\n()"); i >= 0 {
		bare = bare[i+1:]
	}
	words := wordsOf(bare)
	if len(bare) < len(before) && slices.ContainsFunc(kinds, func(kind string) bool { return counted()[kind] }) &&
		(len(words) == 0 || !counted()[strings.TrimSuffix(words[len(words)-1], "s")]) {
		return true
	}
	for n := len(words); n > 0; n-- {
		word := words[n-1]
		switch {
		case countWords()[word] && n == len(words), isDigits(word), joinWords()[word] && n > 1 && isDigits(words[n-2]):
			continue
		}
		said := " " + strings.Join(words[:n], " ")
		return slices.ContainsFunc(kinds, func(kind string) bool {
			return strings.HasSuffix(said, " "+kind) || strings.HasSuffix(said, " "+kind+"s")
		})
	}
	return false
}

// kindsOf returns the words for the kind of thing that an argument names, by the argument's own name.
func kindsOf(argument string) []string {
	argument = argument[strings.LastIndexByte(argument, '.')+1:]
	words := slices.DeleteFunc(NameWords(argument), func(w string) bool { return idWords()[w] })
	for _, w := range words {
		if all := sameKind[w]; all != nil {
			return all
		}
	}
	if len(words) == 0 {
		return nil
	}
	return []string{strings.TrimSuffix(strings.Join(words, " "), "s")}
}

// NamesKind reports whether one of the texts has a plain word for a kind directly before the name of a thing: pod for
// web-1 in "delete the pod web-1".
func NamesKind(texts []string, kind, name string) bool {
	return plain(kind) && kind != "" && name != "" && !plain(name) && slices.ContainsFunc(texts, func(text string) bool {
		i := strings.Index(text, kind+" "+name)
		return i >= 0 && whole(text, i, i+len(kind)+1+len(name))
	})
}
