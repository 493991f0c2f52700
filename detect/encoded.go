package detect

import (
	"slices"
	"unicode/utf8"
)

// Sizes of encoded text, in bytes.
const (
	leastBase64 = 16 // of a run that is decoded
	leastHex    = 24
	leastText   = 12 // of decoded text that is looked at
	wrapped     = 48 // of a line that may go on in the next one
)

// base64Value is the value of each byte of base64, of the alphabets for files and for URLs, and 255 for any other byte.
var base64Value = func() (t [256]uint8) {
	for i := range t {
		t[i] = 255
	}
	for i := range 62 {
		t["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[i]] = uint8(i)
	}
	t['+'], t['-'], t['/'], t['_'] = 62, 62, 63, 63
	return t
}()

// readable are the bytes of text. Decoded at the wrong place, base64 and hexadecimal give others soon.
var readable = func() set {
	s := setOf(" ~")
	s['\t'], s['\n'], s['\r'] = true, true, true
	return s
}()

// collect appends the digits of a run, without its line breaks, until there is a chunk of them.
func collect(buf []byte, marks []mark, text []byte, start int) (digits []byte, at []mark, end int, isHex bool) {
	isHex = true
	for i := start; ; {
		marks = append(marks, mark{len(buf), i})
		line := i
		for i < len(text) && base64Value[text[i]] <= 63 && len(buf)+i-line < chunk {
			isHex = isHex && digitOf[text[i]] <= 15
			i++
		}
		buf = append(buf, text[line:i]...)
		next := i
		for next < len(text) && next < i+8 && (text[next] == '\n' || text[next] == '\r' || text[next] == ' ' && next > i) {
			next++
		}
		if len(buf) >= chunk || next == i || i-line < wrapped || next >= len(text) || base64Value[text[next]] > 63 {
			return buf, marks, i, isHex
		}
		i = next
	}
}

// pairs tells for each byte by which kinds of bytes it may be followed in text, and of which kind it is.
var pairs = func() (t [256]pairing) {
	for i := range t {
		switch c := byte(i); {
		case readable[c]:
			t[i] = pairing{asciiByte, asciiByte | leadByte}
		case 0x80 <= c && c <= 0xbf:
			t[i] = pairing{innerByte, asciiByte | leadByte | innerByte}
		case 0xc2 <= c && c <= 0xf4:
			t[i] = pairing{leadByte, innerByte}
		}
	}
	return t
}()

// A pairing is the kind of a byte, and the kinds that may follow.
type pairing struct{ kind, follows uint8 }

// Kinds of bytes in text.
const (
	asciiByte uint8 = 1 << iota
	leadByte
	innerByte
)

// broken returns the last place whose byte never follows the one before it in text; 0 if there is none.
func broken(data []byte) int {
	for i := len(data) - 1; i > 0; i-- {
		if pairs[data[i-1]].follows&pairs[data[i]].kind == 0 {
			return i
		}
	}
	return 0
}

// textual returns the size of the text that data begins with: readable ASCII, and valid UTF-8 beyond it.
func textual(data []byte) int {
	i := 0
	for i < len(data) {
		if readable[data[i]] {
			i++
			continue
		}
		if c := data[i]; c < 0xc2 || c > 0xf4 || i+1 == len(data) || data[i+1]&0xc0 != 0x80 { // hardly anything else gets further
			break
		}
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError {
			break
		}
		i += n
	}
	return i
}

// appendBase64 appends the bytes that digits encode. The last group may be short.
func appendBase64(buf, digits []byte) []byte {
	buf = slices.Grow(buf, len(digits)/4*3+3)
	out := buf[len(buf) : len(buf)+len(digits)/4*3]
	whole := digits[:len(digits)&^3]
	for i, o := 0, 0; i+3 < len(whole) && o+2 < len(out); i, o = i+4, o+3 {
		a, b, c, d := base64Value[whole[i]], base64Value[whole[i+1]], base64Value[whole[i+2]], base64Value[whole[i+3]]
		out[o], out[o+1], out[o+2] = a<<2|b>>4, b<<4|c>>2, c<<6|d
	}
	buf = buf[:len(buf)+len(out)]
	switch rest := digits[len(whole):]; len(rest) {
	case 2:
		buf = append(buf, base64Value[rest[0]]<<2|base64Value[rest[1]]>>4)
	case 3:
		a, b, c := base64Value[rest[0]], base64Value[rest[1]], base64Value[rest[2]]
		buf = append(buf, a<<2|b>>4, b<<4|c>>2)
	}
	return buf
}

// appendHex appends the bytes that pairs of hexadecimal digits encode.
func appendHex(buf, digits []byte) []byte {
	for i := 0; i+1 < len(digits); i += 2 {
		buf = append(buf, digitOf[digits[i]]<<4|digitOf[digits[i+1]])
	}
	return buf
}
