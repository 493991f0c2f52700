package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/label"
)

// ago says how long ago a time was; left, how far ahead it is.

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// labelOf returns the label that v is or points to.
func labelOf(v any) label.Label {
	switch v := v.(type) {
	case label.Label:
		return v
	case *label.Label:
		if v != nil {
			return *v
		}
	}
	return label.Label{}
}

// shapeOf names the class of a label, by the worst in it.
func shapeOf(v any) string {
	l := labelOf(v)
	switch {
	case l.Malicious:
		return "malicious"
	case l.Untrusted && l.Private:
		return "both"
	case l.Untrusted:
		return "untrusted"
	case l.Private:
		return "private"
	}
	return "clear"
}

// labelWords says a label in words.
func labelWords(v any) string {
	words := drops(labelOf(v))
	if len(words) == 0 {
		return "nothing of note"
	}
	return plain.Text(strings.Join(words, ", "), 200)
}

// drops lists the words of a label.
func drops(l label.Label) []string {
	var words []string
	for word, set := range map[string]bool{"untrusted": l.Untrusted, "private": l.Private, "malicious": l.Malicious} {
		if set {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	for class := range l.Sensitivity.All() {
		words = append(words, string(class))
	}
	return words
}

// droppable lists the words that may be taken out of a label, as far as they read as themselves.
func droppable(l label.Label) []string {
	return slices.DeleteFunc(drops(l), func(word string) bool { return plain.Text(word, 100) != word })
}

// effectClass returns the class of the style sheet that an effect has; "" if it has none.
func effectClass(effect string) string {
	switch effect {
	case "allow", "accepted", "granted":
		return "good"
	case "ask", "asked", "hide", "warn":
		return "care"
	case "block", "declined", "ended", "expired":
		return "stop"
	}
	return ""
}

// shown returns a text that a person filters by, so that its hidden characters are seen; meant undoes it.
func shown(s string) string { return plain.Text(s, 0) }

var shownRune = pattern.New(`\\u\{([0-9a-f]{1,6})\}`)

// meant returns the text that a person means who writes it as pages show it.
func meant(s string) string {
	return shownRune().ReplaceAllStringFunc(s, func(word string) string {
		n, err := strconv.ParseUint(word[len(`\u{`):len(word)-1], 16, 32)
		if err != nil || !utf8.ValidRune(rune(n)) {
			return word
		}
		return string(rune(n))
	})
}

// Bounds of the shown part of a text of several lines.
const (
	maxLines = 200
	maxLine  = 400 // characters
)

// textLines returns a text line by line, each as plain text.
func textLines(s string) []string {
	all := strings.Split(s, "\n")
	if n := len(all); n > maxLines {
		all = append(all[:maxLines:maxLines], fmt.Sprintf("[… %d more lines …]", n-maxLines))
	}
	for i, line := range all {
		all[i] = plain.Text(strings.TrimSuffix(line, "\r"), maxLine)
	}
	return all
}

// chunkSize is how many rows a browser lays out at once.
const chunkSize = 50

// A chunk is some of the rows of a table.
type chunk struct {
	First bool
	Rows  []Event
}

// chunks cuts rows into parts, which a browser lays out when they come into sight.
func chunks(rows []Event) []chunk {
	var out []chunk
	for part := range slices.Chunk(rows, chunkSize) {
		out = append(out, chunk{len(out) == 0, part})
	}
	return out
}
