package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// Bounds of a small value.
const (
	smallText   = 8 // characters
	smallNumber = 8 // digits
)

// dates are the forms of dates and times that count as small.
var dates = []string{
	time.DateOnly, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339, "15:04", "15:04:05",
}

// small reports whether a value is too small to carry much: a truth value, a number of few digits, a date or time, or a
// text of few characters.
func small(text string) bool {
	if utf8.RuneCountInString(text) <= smallText || text == "false" {
		return true
	}
	digits, dots, others := 0, 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '.':
			dots++
		case c != '-':
			others++
		}
	}
	if others == 0 && digits <= smallNumber && dots <= 1 && strings.LastIndexByte(text, '-') <= 0 {
		return true
	}
	if len(text) > len("2006-01-02T15:04:05+07:00") || text[0] < '0' || text[0] > '9' {
		return false
	}
	for _, layout := range dates {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

// isScalar reports whether a text is a number or a truth value, which stand in every text.
func isScalar(text string) bool {
	return rawjson.Kind([]byte(text)) == '0' && small(text) || text == "true" || text == "false"
}

// isCount reports whether a text is a whole number of a few digits.
func isCount(text string) bool {
	if text == "" || len(text) > 6 {
		return false
	}
	return strings.Trim(text, "0123456789") == ""
}

// numberBits returns how many bits a number of so many digits can carry at most.
func numberBits(digits string) int { return 4 * len(digits) }

// clip cuts a text that is longer than rules may read, in a way that keeps different texts different.
func clip(text string) string {
	const most = 1 << 10
	if len(text) <= most {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return strings.ToValidUTF8(text[:most], "") + "… " + hex.EncodeToString(sum[:])
}
