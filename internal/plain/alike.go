package plain

import "unicode"

// lookalikes are the letters of other scripts that are drawn like ASCII letters or digits, of Unicode TR39's
// confusables those that common fonts do not tell apart.
const lookalikes = "аАбВГеЕзЗіІїјЈкКмМНоОпрРсСтТуУхХѕЅһҺԁԛԜԝӏӀҮүґѵѴ" + // Cyrillic
	"αΑβΒγεΕζΖηΗιΙκΚΜνΝοΟρΡτΤυΥχΧωϲϹϳͿ" + // Greek
	"աՕօհոսցզքյԼՍԱ" + // Armenian
	"ᎠᎡᎢᎥᎩᎪᎫᎬᎳᎵᎷᎻᏀᏂᏃᏆᏔᏕᏙᏚᏞᏟᏢᏦᏧ" + // Cherokee
	"ɑɡɩıȷʏʟɪʀᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢꞌ" // Latin, as phonetics has it

// imitates tells of each rune whether it could pass for another, where it stands: letters that fold to ASCII but are no
// ASCII (mathematical and fullwidth ones), anywhere; letters of other scripts in a word with ASCII letters; and letters
// that look like ASCII in a text like an address. It returns nil if none could.
func imitates(text []rune) []bool {
	var out []bool
	mark := func(i int) {
		if out == nil {
			out = make([]bool, len(text))
		}
		out[i] = true
	}
	for start := 0; start < len(text); {
		end := start
		for end < len(text) && inAddress(text[end]) {
			end++
		}
		token := text[start:end]
		address := isAddress(token)
		for i, word := range words(token) {
			for j, r := range word.runes {
				if isStyled(r) || r > unicode.MaxASCII && (word.mixed && isForeign(r) || address && isAlike(r)) {
					mark(start + i + j)
				}
			}
		}
		start = max(end, start+1)
	}
	return out
}

func inAddress(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '.' || r == '@' || r == '-' || r == '_' || r == '/' || r == ':'
}

// isAddress reports whether a text reads like the name of a machine or a mailbox.
func isAddress(token []rune) bool {
	for i, r := range token {
		if i > 0 && i < len(token)-1 && (r == '.' || r == '@') {
			return true
		}
	}
	return false
}

// A word is a run of letters, digits and marks.
type word struct {
	runes []rune
	mixed bool // it has ASCII letters, and others
}

// words iterates over the words of a token and where they begin.
func words(token []rune) func(yield func(int, word) bool) {
	return func(yield func(int, word) bool) {
		for start := 0; start < len(token); start++ {
			end, ascii, other := start, false, false
			for end < len(token) && (unicode.IsLetter(token[end]) || unicode.IsDigit(token[end]) || unicode.IsMark(token[end])) {
				r := token[end]
				ascii = ascii || r <= unicode.MaxASCII && unicode.IsLetter(r)
				other = other || r > unicode.MaxASCII
				end++
			}
			if end > start && !yield(start, word{token[start:end], ascii && other}) {
				return
			}
			start = end
		}
	}
}

func isForeign(r rune) bool {
	return unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic)
}

// isStyled reports whether a rune is an ASCII letter or digit in another dress: mathematical, fullwidth, enclosed.
func isStyled(r rune) bool {
	switch {
	case r >= 0x1D400 && r <= 0x1D7FF, r >= 0xFF10 && r <= 0xFF19, r >= 0xFF21 && r <= 0xFF3A, r >= 0xFF41 && r <= 0xFF5A,
		r >= 0x1F130 && r <= 0x1F189, r >= 0x24B6 && r <= 0x24E9:
		return true
	}
	return false
}

func isAlike(r rune) bool {
	for _, l := range lookalikes {
		if l == r {
			return true
		}
	}
	return false
}
