package provenance

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// escape reads the escape sequence at i: a percent escape (RFC 3986, 2.1), a character reference of HTML, or a
// backslash escape. It returns its character and its length, which is zero if there is none.
func escape(text []byte, i int) (r rune, n int) {
	switch text[i] {
	case '%':
		return percent(text[i:])
	case '&':
		return reference(text[i:])
	case '\\':
		return backslash(text[i:])
	}
	return 0, 0
}

// percent reads %41, and the whole of %C3%A9.
func percent(text []byte) (rune, int) {
	var buf [utf8.UTFMax]byte
	for k := range buf {
		at := 3 * k
		if len(text) < at+3 || text[at] != '%' {
			break
		}
		c, ok := hexBytes(text[at+1 : at+3])
		if !ok {
			break
		}
		buf[k] = byte(c)
		if r, size := utf8.DecodeRune(buf[:k+1]); size == k+1 && (r != utf8.RuneError || k == 2) {
			return r, at + 3
		}
	}
	return 0, 0
}

// backslash reads \n, \", \x41, \u0041 and its surrogate pairs, and \U00000041.
func backslash(text []byte) (rune, int) {
	if len(text) < 2 {
		return 0, 0
	}
	digits := 0
	switch text[1] {
	case 'n', 'r', 't', 'b', 'f', 'v', '"', '\'', '/', '\\':
		return ' ', 2
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return 0, 0
	}
	if len(text) < 2+digits {
		return 0, 0
	}
	c, ok := hexBytes(text[2 : 2+digits])
	if !ok || c > unicode.MaxRune {
		return 0, 0
	}
	if c>>10 == 0xD800>>10 && len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
		if low, ok := hexBytes(text[8:12]); ok && low>>10 == 0xDC00>>10 {
			return rune(0x10000 + (c-0xD800)<<10 + low - 0xDC00), 12
		}
	}
	return rune(c), 2 + digits
}

// longestReference is the most bytes of a character reference that are looked at.
const longestReference = 12

// references are the named character references that texts are full of. All others separate words.
var references = map[string]rune{
	"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\'', "nbsp": ' ', "shy": '\u00ad', "zwnj": '\u200c', "zwj": '\u200d',
	"auml": 'ä', "ouml": 'ö', "uuml": 'ü', "szlig": 'ß', "eacute": 'é', "egrave": 'è', "agrave": 'à', "ccedil": 'ç',
}

// reference reads &#65;, &#x41; and the named references.
func reference(text []byte) (rune, int) {
	end := bytes.IndexByte(text[:min(len(text), longestReference)], ';')
	if end < 2 {
		return 0, 0
	}
	name := string(text[1:end])
	if name[0] != '#' {
		return references[name], referenceLength(references[name], end)
	}
	base, digits := 10, name[1:]
	if len(digits) > 0 && (digits[0] == 'x' || digits[0] == 'X') {
		base, digits = 16, digits[1:]
	}
	c, err := strconv.ParseUint(digits, base, 32)
	if err != nil || c > unicode.MaxRune {
		return 0, 0
	}
	return rune(c), end + 1
}

func referenceLength(r rune, end int) int {
	if r == 0 {
		return 0
	}
	return end + 1
}

func hexBytes(digits []byte) (n uint32, ok bool) {
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | uint32(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n<<4 | uint32(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// Bounds of tokens that are tried as base64 and hexadecimal.
const (
	shortestToken = 16 // characters
	probe         = 64 // characters of a token that are decoded to see whether it is a text at all
)

// decodings calls yield with the decoded base64 and hexadecimal tokens of a text, if they are text. A token that is
// long enough has one of the places that are looked at.
func decodings(text []byte, yield func([]byte)) {
	for from, at := 0, shortestToken-1; at < len(text); at += shortestToken {
		if !tokenByte[text[at]] {
			continue
		}
		start, end := at, at+1
		for start > from && tokenByte[text[start-1]] {
			start--
		}
		for end < len(text) && tokenByte[text[end]] {
			end++
		}
		if end-start >= shortestToken {
			if plain := decode(text[start:end]); plain != nil {
				yield(plain)
			}
		}
		from, at = end, end
	}
}

// tokenByte tells the characters of base64 in both alphabets, which include those of hexadecimal.
var tokenByte = tokenTable()

func tokenTable() (t [256]bool) {
	for c := range t {
		t[c] = fold[c] > special || c == '+' || c == '/' || c == '-' || c == '_' || c == '='
	}
	return t
}

// decode returns the text that a token stands for, or nil.
func decode(token []byte) []byte {
	token = bytes.TrimRight(token, "=")
	if plain := unhex(token); plain != nil {
		return plain
	}
	encoding := base64.RawStdEncoding
	if bytes.ContainsAny(token, "-_") {
		encoding = base64.RawURLEncoding
	}
	unbase := func(token []byte) []byte {
		plain := make([]byte, encoding.DecodedLen(len(token)))
		n, err := encoding.Decode(plain, token)
		if err != nil {
			return nil
		}
		return plain[:n]
	}
	if len(token) > probe && !readable(unbase(token[:probe]), true) {
		return nil
	}
	if plain := unbase(token); readable(plain, false) {
		return plain
	}
	return nil
}

func unhex(token []byte) []byte {
	if len(token)%2 != 0 {
		return nil
	}
	if _, ok := hexBytes(token[:min(len(token), shortestToken)]); !ok {
		return nil
	}
	plain := make([]byte, len(token)/2)
	if _, err := hex.Decode(plain, token); err != nil || !readable(plain, false) {
		return nil
	}
	return plain
}

// readable reports whether bytes are text. A beginning of text may end inside a character.
func readable(b []byte, beginning bool) bool {
	if len(b) == 0 {
		return false
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			return beginning && len(b) < utf8.UTFMax
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7F {
			return false
		}
		b = b[n:]
	}
	return true
}
