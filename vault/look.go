package vault

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// A Type is the type of the answer to a look.
type Type string

// The types. An answer of the first five is told to the agent; the others give another value.
const (
	Boolean Type = "boolean"
	Integer Type = "integer"
	Number  Type = "number"
	Date    Type = "date"   // a day, as 2025-11-30
	OneOf   Type = "one_of" // of the options
	Email   Type = "email"  // the only mail address in a text
	URL     Type = "url"    // the only URL in a text
	Text    Type = "text"   // the part itself
)

// Types returns all types of answers.
func Types() []Type { return []Type{Boolean, Integer, Number, Date, OneOf, Email, URL, Text} }

// None is the answer to a look for one of the options where the text is none of them.
const None = "none of them"

// A Look reads a typed answer from a value.
type Look struct {
	Path    string   `json:"path,omitempty"` // JSON pointer into the document of the value
	As      Type     `json:"as"`
	Options []string `json:"options,omitempty"` // of OneOf
	Min     *float64 `json:"min,omitempty"`     // of Integer and Number; the answer is refused outside of them
	Max     *float64 `json:"max,omitempty"`

	// Question is for a model that answers where no rule can. "" asks for no such answer.
	Question string `json:"question,omitempty"`
}

// Limits of a look.
const (
	maxOptions  = 64
	maxQuestion = 2000 // bytes
	wholeBits   = 64   // of a number without limits
	dateBits    = 17   // of a day from 1900 to 2199
)

// Check reports a mistake in the look itself.
func (l *Look) Check() error {
	switch {
	case !slices.Contains(Types(), l.As):
		return fmt.Errorf("as is one of %v", Types())
	case l.As == OneOf && (len(l.Options) < 2 || len(l.Options) > maxOptions):
		return fmt.Errorf("as: one_of needs from 2 to %d options", maxOptions)
	case l.As != OneOf && l.Options != nil:
		return errors.New("only as: one_of has options")
	case (l.Min != nil || l.Max != nil) && l.As != Integer && l.As != Number:
		return errors.New("only as: integer and as: number have min and max")
	case l.As == Integer && l.Min != nil && l.Max != nil && !(exact(*l.Min) && exact(*l.Max)):
		return errors.New("min and max of an integer are whole numbers below 2^53")
	case (l.Min == nil) != (l.Max == nil) || l.Min != nil && !(*l.Min <= *l.Max):
		return errors.New("min and max come together, and min is not above max")
	case len(l.Question) > maxQuestion:
		return fmt.Errorf("question has more than %d bytes", maxQuestion)
	}
	return nil
}

// exact reports whether a number is a whole one that is no other's rounding.
func exact(f float64) bool { return f == math.Trunc(f) && math.Abs(f) < 1<<53 }

// Derives reports whether the answer is another value, which the agent does not see.
func (l *Look) Derives() bool { return l.As == Email || l.As == URL || l.As == Text }

// Bits returns how much the answer can tell at most, that there is none included.
func (l *Look) Bits() int {
	switch {
	case l.As == Boolean:
		return 2
	case l.As == Date:
		return dateBits + 1
	case l.As == OneOf:
		return bits.Len(uint(len(l.Options) + 1)) // with none of them, and no answer
	case l.Derives():
		return 1
	case l.As == Integer && l.Min != nil:
		return bits.Len64(uint64(int64(*l.Max)-int64(*l.Min)) + 1) // with no answer
	}
	return wholeBits
}

// ErrNoAnswer says that a value has no answer of the type in the place. It quotes nothing of the value.
var ErrNoAnswer = errors.New("there is no such answer in it")

// Answer returns the answer that a part of a document is as it stands.
func (l *Look) Answer(doc json.RawMessage) (json.RawMessage, error) {
	part, err := Select(doc, l.Path)
	if err != nil {
		return nil, err
	}
	switch l.As {
	case Text:
		return part, nil
	case Email:
		return only(mail(), textOf(part), "")
	case URL:
		return only(link(), textOf(part), ".,;:!?")
	}
	return l.Accept(part)
}

// Accept returns an answer in the one form that its type has; an error if it is of no such form.
func (l *Look) Accept(answer json.RawMessage) (json.RawMessage, error) {
	text := strings.TrimSpace(textOf(answer))
	switch l.As {
	case Boolean:
		if text == "true" || text == "false" {
			return json.RawMessage(text), nil
		}
	case Integer:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n != math.MinInt64 && (l.Min == nil || int64(*l.Min) <= n && n <= int64(*l.Max)) {
			return strconv.AppendInt(nil, n, 10), nil
		}
	case Number:
		if f, err := strconv.ParseFloat(text, 64); err == nil && decimal().MatchString(text) && l.within(f) {
			return strconv.AppendFloat(nil, f, 'g', -1, 64), nil
		}
	case Date:
		if day, ok := dayOf(text); ok {
			return rawjson.Quote(day), nil
		}
	case OneOf:
		if rawjson.Kind(answer) == '{' || rawjson.Kind(answer) == '[' {
			break
		}
		if !slices.Contains(l.Options, text) {
			text = None
		}
		return rawjson.Quote(text), nil
	}
	return nil, ErrNoAnswer
}

func (l *Look) within(f float64) bool {
	return !math.IsInf(f, 0) && (l.Min == nil || *l.Min <= f && f <= *l.Max)
}

// decimal is a number as JSON writes it.
var decimal = pattern.New(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// dayOf returns the day with which a text begins, if that is a date, or a date and a time.
func dayOf(text string) (string, bool) {
	for _, form := range []string{time.DateOnly, time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.Parse(form, text); err == nil && t.Year() >= 1900 && t.Year() < 2200 {
			return t.Format(time.DateOnly), true
		}
	}
	return "", false
}

var (
	mail = pattern.New(`[\pL\pN._%+-]+@[\pL\pN-]+(\.[\pL\pN-]+)+`)
	link = pattern.New(`(?i)\bhttps?://[^\s<>"'\x60()\[\]{}]+`)
)

// only returns the one thing of a kind that a text holds, as a JSON string, without marks at its end.
func only(kind *regexp.Regexp, text, marks string) (json.RawMessage, error) {
	found := map[string]bool{}
	for _, s := range kind.FindAllString(text, -1) {
		found[strings.TrimRight(s, marks)] = true
	}
	if len(found) != 1 {
		return nil, ErrNoAnswer
	}
	for s := range found {
		return rawjson.Quote(s), nil
	}
	return nil, ErrNoAnswer
}
