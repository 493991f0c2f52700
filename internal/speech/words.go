package speech

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/pattern"
)

func decode(s string) (rune, int) { return utf8.DecodeRuneInString(s) }

func runeLen(s string) int {
	_, n := decode(s)
	return n
}

func isWord(s string) bool {
	r, _ := decode(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// wordsOf returns the words of a text in lower case, apostrophes in them as one sign.
func wordsOf(text string) []string {
	text = strings.NewReplacer("\u2019", "'", "\u02bc", "'").Replace(strings.ToLower(text))
	return strings.FieldsFunc(text, func(r rune) bool {
		return r != '\'' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r)
	})
}

// joins are the signs that make the text beside them a part of a longer name, address or number.
const joins = "._-/+%=&?~\\@"

// whole reports whether text[i:j] is not a part of something longer.
func whole(text string, i, j int) bool {
	before, n := utf8.DecodeLastRuneInString(text[:i])
	if unicode.IsLetter(before) || unicode.IsDigit(before) || strings.ContainsRune(joins, before) {
		if mention := before == '@' && (i-n == 0 || strings.IndexByte(" \t\n(\"'", text[i-n-1]) >= 0); !mention {
			return false
		}
	}
	after, n := decode(text[j:])
	if unicode.IsLetter(after) || unicode.IsDigit(after) || strings.ContainsRune("/@_%=&\\+~", after) {
		return false
	}
	return !strings.ContainsRune(".-,:?#'", after) || n == 0 || !isWord(text[j+n:]) || after == '\'' && possessive(text[j+n:])
}

// possessive reports whether the text after an apostrophe is the s of a genitive.
func possessive(after string) bool {
	return strings.HasPrefix(after, "s") && !isWord(after[1:])
}

// kinds are words for things that have names: beside one of them the plainest word is a name.
var kinds = pattern.Words(`channel channels room group team list board project folder directory file branch repo repository organization organisation org owner user account
 table database schema bucket cluster namespace context deployment service server topic queue page sheet document doc tab space workspace label tag calendar
 collection index site domain host machine container image volume job pipeline environment stage person contact member assignee colleague
 kanal raum gruppe liste projekt ordner datei zweig tabelle datenbank seite konto nutzer benutzer canal groupe projet dossier fichier branche
 grupo carpeta archivo proyecto tabla cartella progetto gruppo`)

// calls are words that may stand between such a word and the name.
var calls = pattern.Words("called named titled is the a an of namens mit dem namen nommé llamado chiamato")

// owners are words between a thing that has a name and the name of whose it is.
var owners = pattern.Words("of von de di van")

// Names reports whether one of the texts names the value: it stands there as a whole, and not as a mere word. A plain
// word in lower case, or at the beginning of a sentence, is a name where a sign (#general, "general") or a word for its
// kind (the general channel) says so.
func Names(texts []string, value string) bool {
	value = strings.TrimSpace(value)
	if !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return false
	}
	for _, text := range texts {
		for i, j := range occurrences(text, value) {
			if !plain(value) || marked(text, i, j) {
				return true
			}
		}
	}
	return false
}

// plain reports whether a value is a word as any other.
func plain(value string) bool {
	return strings.IndexFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) < 0 && !strings.ContainsFunc(value, isIdeograph)
}

func isIdeograph(r rune) bool { return r >= 0x2E80 }

// marked reports whether a plain word is a name where it stands.
func marked(text string, i, j int) bool {
	before, n := utf8.DecodeLastRuneInString(text[:i])
	if strings.ContainsRune("#@\"'`\u201c\u201e\u2018\u201a\u00ab\u300c", before) && n > 0 {
		return true
	}
	ahead, behind := wordsOf(text[:i]), wordsOf(firstClause(text[j:]))
	if len(behind) > 0 && kinds()[behind[0]] {
		return true
	}
	for k := len(ahead) - 1; k >= max(0, len(ahead)-3); k-- {
		if kinds()[ahead[k]] {
			return true
		}
		if !calls()[ahead[k]] {
			break
		}
	}
	if n := len(ahead); n > 2 && owners()[ahead[n-1]] && kinds()[ahead[n-3]] {
		return true // the repo widgets of acme
	}
	first, _ := decode(text[i:])
	return unicode.IsUpper(first) && !common()[strings.ToLower(text[i:j])] && !startsSentence(text[:i])
}

func firstClause(s string) string {
	if i := strings.IndexAny(s, ".,;:!?\n"); i >= 0 {
		return s[:i]
	}
	return s
}

func startsSentence(before string) bool {
	before = strings.TrimRight(before, " \t\"'(*-")
	last, n := utf8.DecodeLastRuneInString(before)
	return n == 0 || strings.ContainsRune(".!?\n:;\u3002", last)
}

// common are words that may have a capital and name nobody.
var common = pattern.Words(`i you he she it we they the a an and or but if then please thanks hello hi dear yes no not nothing nobody all any some me my your his her our
 their delete post send write reply read show get find make create update remove open close monday tuesday wednesday thursday friday saturday sunday january
 february march april may june july august september october november december`)
