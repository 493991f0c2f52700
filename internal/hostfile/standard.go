package hostfile

import "bytes"

// Standard returns src with the comments, the trailing commas and the byte order mark that editors accept replaced
// by spaces, so that every other byte stays where it is. A text without them stays as it is.
func Standard(src []byte) []byte {
	out := bytes.Clone(src)
	if bytes.HasPrefix(out, []byte("\ufeff")) {
		blank(out[:3])
	}
	comma := -1 // the last byte that is neither space nor comment, if it is a comma
	for i := 0; i < len(out); {
		n := 1
		switch c := out[i]; {
		case c == '"':
			n = quoted(out[i:])
			comma = -1
		case c == '/':
			if n = comment(out[i:]); n == 0 {
				n, comma = 1, -1
				break
			}
			blank(out[i : i+n])
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case (c == ']' || c == '}') && comma >= 0:
			out[comma], comma = ' ', -1
		case c == ',':
			comma = i
		default:
			comma = -1
		}
		i += n
	}
	return out
}

// quoted returns the length of the string that s begins with.
func quoted(s []byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// comment returns the length of the comment that s begins with, 0 if there is none or it does not end.
func comment(s []byte) int {
	switch {
	case bytes.HasPrefix(s, []byte("//")):
		if i := bytes.IndexByte(s, '\n'); i >= 0 {
			return i
		}
		return len(s)
	case bytes.HasPrefix(s, []byte("/*")):
		if i := bytes.Index(s[2:], []byte("*/")); i >= 0 {
			return i + 4
		}
	}
	return 0
}

func blank(s []byte) {
	for i, c := range s {
		if c != '\n' && c != '\r' {
			s[i] = ' '
		}
	}
}
