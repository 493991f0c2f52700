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

// encodings looks for runs of base64 and hexadecimal, and at the text that they encode. Every run of leastBase64 bytes covers a place that
// is looked at.
func (w *scan) encodings(v view) {
	done := 0
	for at := leastBase64 - 1; at < len(v.text); at += leastBase64 {
		if base64Value[v.text[at]] > 63 {
			continue
		}
		start := at
		for start > done && base64Value[v.text[start-1]] <= 63 {
			start--
		}
		end := at
		for end < len(v.text) && base64Value[v.text[end]] <= 63 {
			end++
		}
		if done = end; end-start >= leastBase64 {
			done = w.encoding(v, start)
		}
		at = max(at, done-1)
	}
}

// encoding decodes the run that begins at start, looks at its text, and returns the end of the run.
func (w *scan) encoding(v view, start int) (end int) {
	l := &w.levels[v.depth]
	for next := start; ; {
		isHex := false
		l.wide, l.marks, end, isHex = collect(l.wide[:0], l.marks[:0], v.text, next)
		w.work -= len(l.wide)
		if w.work < 0 {
			w.cut = true
			return len(v.text)
		}
		more := len(l.wide) >= chunk
		layer, shifts := Base64, 4
		if isHex && len(l.wide) >= leastHex { // base64 of text is hardly ever made of these digits alone
			layer, shifts = Hex, 2
		}
		for shift := range shifts {
			w.decoded(v, layer, shift, more)
		}
		if !more {
			return end
		}
		w.work += overlap
		inner := view{marks: l.marks, rate: rate{1, 1}}
		next = inner.origin(len(l.wide) - overlap)
	}
}

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

// decoded decodes the digits of a run from a shift on, and looks at the parts that are text.
func (w *scan) decoded(v view, layer Layer, shift int, more bool) {
	l := &w.levels[v.depth]
	buf, r := l.buf[:0], rate{4, 3}
	if layer == Hex {
		buf, r = appendHex(buf, l.wide[shift:]), rate{2, 1}
	} else {
		buf = appendBase64(buf, l.wide[shift:])
	}
	l.buf = buf
	for i := 0; i < len(buf); i++ {
		if buf[i] < ' ' && !readable[buf[i]] || i+1 < len(buf) && buf[i+1] < ' ' && !readable[buf[i+1]] {
			continue
		}
		start := i
		if i += textual(buf[i:]); i-start < leastText {
			continue
		}
		l.coded = l.coded[:0]
		for _, m := range l.marks { // where each line of digits lands
			at := (m.at - shift + r.text - 1) / r.text * r.view
			l.coded = append(l.coded, mark{at - start, m.from + (at/r.view*r.text + shift - m.at)})
		}
		w.look(view{
			text: buf[start:i], depth: v.depth + 1, encoded: v.encoded + 1, from: &v, layer: layer, marks: l.coded, rate: r,
			goes: i == len(buf) && more,
		})
	}
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
