package detect

import (
	"bytes"
	"unicode/utf8"
)

// Bounds of the text whose scripts are compared, and of its letters, in bytes.
const (
	scriptReach = 400 // on each side of a passage
	fewLetters  = 60  // around a passage: with fewer, its own script is as usual as theirs
	fewOwn      = 12  // of a passage
)

// A script is the number of one that a passage and the text around it are compared by. Zero is that of all that is no
// letter. Japanese uses several, which are one here, with Chinese.
type script uint8

// The scripts.
const (
	noScript script = iota
	latinScript
	eastAsian
	cyrillic
	hangul
	arabic
	hebrew
	greek
	devanagari
	thai
	manyScripts // their number
)

// scriptBlocks are the blocks of letters, in order.
var scriptBlocks = [...]struct {
	first, last rune
	script      script
}{
	{0xC0, 0x24F, latinScript}, {0x370, 0x3FF, greek}, {0x400, 0x52F, cyrillic}, {0x590, 0x5FF, hebrew}, {0x600, 0x77F, arabic},
	{0x900, 0x97F, devanagari}, {0xE00, 0xE7F, thai}, {0x1100, 0x11FF, hangul}, {0x1E00, 0x1EFF, latinScript}, {0x1F00, 0x1FFF, greek},
	{0x3040, 0x312F, eastAsian}, {0x3400, 0x9FFF, eastAsian}, {0xAC00, 0xD7A3, hangul}, {0xF900, 0xFAFF, eastAsian},
}

// scriptOf returns the script of a letter.
func scriptOf(r rune) script {
	if r < utf8.RuneSelf {
		if latin(byte(r)) {
			return latinScript
		}
		return noScript
	}
	for i := range scriptBlocks {
		if b := &scriptBlocks[i]; r <= b.last {
			if r < b.first {
				break
			}
			return b.script
		}
	}
	return noScript
}

// scriptCounts are the bytes of letters by script.
type scriptCounts [manyScripts]int

// count counts the letters of a text.
func (c *scriptCounts) count(text []byte) {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		c[scriptOf(r)] += n
		text = text[n:]
	}
}

// most returns the script with most letters, and how many bytes all scripts have.
func (c *scriptCounts) most() (most script, all int) {
	most = latinScript
	for i := latinScript; i < manyScripts; i++ {
		if all += c[i]; c[i] > c[most] {
			most = i
		}
	}
	return most, all
}

// compareScripts notes on a passage that it is in another script than the text around it.
func compareScripts(r *reading, p *passage) {
	if score := p.score(); score < noteScore || score >= maliciousScore || !unlikeAround(r.text, p.start, p.end) {
		return
	}
	for _, i := range r.grammar.needing[otherScript] {
		p.add(&r.grammar.signals[i])
	}
}

// unlikeAround reports whether a passage is in another script than the text around it, up to the ends of its string.
// The passage goes on as far as its script does.
func unlikeAround(text []byte, start, end int) bool {
	var own, around scriptCounts
	own.count(text[start:min(end, start+scriptReach)])
	mine, all := own.most()
	if own[mine] < fewOwn || own[mine]*4 < all*3 {
		return false
	}
	goesOn := func(r rune) bool {
		s := scriptOf(r)
		return r != '"' && (s == noScript || s == mine)
	}
	for least := max(0, start-scriptReach); start > least; {
		r, n := utf8.DecodeLastRune(text[:start])
		if !goesOn(r) {
			break
		}
		start -= n
	}
	for most := min(len(text), end+scriptReach); end < most; {
		r, n := utf8.DecodeRune(text[end:])
		if !goesOn(r) {
			break
		}
		end += n
	}
	before, after := text[max(0, start-scriptReach):start], text[end:min(len(text), end+scriptReach)]
	before = before[bytes.LastIndexByte(before, '"')+1:]
	if quote := bytes.IndexByte(after, '"'); quote >= 0 {
		after = after[:quote]
	}
	around.count(before)
	around.count(after)
	usual, all := around.most()
	return all >= fewLetters && usual != mine && around[usual]*4 >= all*3 && around[mine]*5 <= all
}
