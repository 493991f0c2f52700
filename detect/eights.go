package detect

import "encoding/binary"

// The functions here pass text that holds nothing of interest eight bytes at a time, as the bytes of one number.
// They are exact: no byte changes the answer for its neighbour.

// Numbers of eight equal bytes.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
	lows  = 0x7f * ones
)

func eight(text []byte) uint64 { return binary.LittleEndian.Uint64(text) }

// anyZero reports whether one of eight bytes is zero.
func anyZero(x uint64) bool { return (x-ones)&^x&highs != 0 }

// plain returns how many bytes a text begins with, in steps of eight, none of which may begin an escape or a character
// that is folded.
func plain(text []byte) int {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		x := eight(text[i:])
		if x&highs != 0 || anyZero(x^'\\'*ones) || anyZero(x^'%'*ones) || anyZero(x^'&'*ones) {
			break
		}
	}
	return i
}

// twoDigits returns the first place from a place on at which two digits stand, or -1.
func twoDigits(text []byte, at int) int {
	for ; at+9 <= len(text); at += 8 {
		x := eight(text[at:]) ^ '0'*ones // digits become 0 to 9
		if digits := ^(x&lows + (0x80-10)*ones | x) & highs; digits == 0 || digits&(digits>>8) == 0 && digits>>63 == 0 {
			continue
		}
		for i := at; i < at+8; i++ {
			if isDigit(text[i]) && isDigit(text[i+1]) {
				return i
			}
		}
	}
	for ; at+1 < len(text); at++ {
		if isDigit(text[at]) && isDigit(text[at+1]) {
			return at
		}
	}
	return -1
}

// mayEncode reports whether eight bytes may be digits of base64: letters, the bytes from + to 9, an underscore.
func mayEncode(x uint64) bool {
	if (x|(x-'+'*ones))&highs != 0 { // of most words of a text: one byte is below
		return false
	}
	letter := x | 0x20*ones // which an underscore becomes 0x7f by
	letters := (letter + (0x80-'a')*ones) &^ (letter + (0x80-'z'-1)*ones)
	others := ^(x + (0x80-'9'-1)*ones) | letter + ones
	return (letters|others)&highs == highs
}

// encodedRun returns the first run of at least leastBase64 digits of base64 that begins from a place on, or -1.
// Each such run covers eight bytes that begin at a multiple of eight.
func encodedRun(text []byte, from int) (start int) {
	for at := from; at+8 <= len(text); at += 8 {
		if !mayEncode(eight(text[at:])) {
			continue
		}
		for start = at; start > from && base64Value[text[start-1]] <= 63; {
			start--
		}
		end := at
		for end < len(text) && end < at+leastBase64 && base64Value[text[end]] <= 63 {
			end++
		}
		if end-start >= leastBase64 {
			return start
		}
	}
	return -1
}
