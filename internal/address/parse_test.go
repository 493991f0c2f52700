package address

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestParsingIsThatOfTheLibrary holds the looks at bytes, which spare the errors of the library, against the library.
func TestParsingIsThatOfTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.StringMatching(`[0-9a-fxX.:%_+-]{0,24}`), rapid.StringMatching(`(0x|0)?[0-9a-f]{1,20}`),
			rapid.StringMatching(`[0-9]{1,3}(\.[0-9]{1,3}){3}`), rapid.String()).Draw(t, "text")
		got, ok := parseAddr(s)
		if want, err := netip.ParseAddr(s); ok != (err == nil) || got != want {
			t.Fatalf("%q is %v, %v, want %v, %v", s, got, ok, want, err)
		}
		base, digits := 10, s
		switch {
		case strings.HasPrefix(s, "0x"), strings.HasPrefix(s, "0X"):
			base, digits = 16, s[2:]
		case len(s) >= 2 && s[0] == '0':
			base, digits = 8, s[1:]
		}
		n, ok := part(s)
		want, err := strconv.ParseUint(digits, base, 64)
		if empty := s != "" && digits == ""; empty {
			want, err = 0, nil
		}
		if ok != (err == nil) || ok && n != want {
			t.Fatalf("%q is the number %d, %v, want %d, %v", s, n, ok, want, err)
		}
	})
}
