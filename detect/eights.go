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

// encodedRun returns the first run of at least leastBase64 digits of base64 that begins from a place on, or -1.
// Each such run covers eight bytes that begin at a multiple of eight.
func encodedRun(text []byte, from int) (start int) {
	for at := from; at+8 <= len(text); at += 8 {
		if x := eight(text[at:]); (x|(x-'+'*ones)&^x)&highs != 0 { // a byte beyond ASCII, or one before the digits
			continue
		}
		i := at
		for i < at+8 && base64Value[text[i]] <= 63 {
			i++
		}
		if i < at+8 {
			continue
		}
		for i < len(text) && i < at+leastBase64 && base64Value[text[i]] <= 63 {
			i++
		}
		for start = at; start > from && base64Value[text[start-1]] <= 63; {
			start--
		}
		if i-start >= leastBase64 {
			return start
		}
	}
	return -1
}
