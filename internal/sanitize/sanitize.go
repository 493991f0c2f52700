// Package sanitize makes texts of hidden values into others, by rules of the operator: no agent sees either text.
package sanitize

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/vault"
)

// The ways of making a text into another.
const (
	StripLinks = "strip_links" // links and mail addresses become [link] and [address]
	Redact     = "redact"      // values that detection finds become placeholders
	Truncate   = "truncate"    // the first bytes stay
	Summarize  = "summarize"   // the quarantined model answers the question
)

// Ways returns all ways.
func Ways() []string { return []string{StripLinks, Redact, Truncate, Summarize} }

// A Rule is one sanitizer: a way, and the label of its output.
type Rule struct {
	By       string
	Length   int    // of Truncate, in bytes
	Question string // of Summarize

	Trusted bool // the operator states that the output is not untrusted
	Public  bool // and that it is not private
}

// String says which parts of a label the operator takes away.
func (r *Rule) String() string {
	var gone []string
	if r.Trusted {
		gone = append(gone, "untrusted")
	}
	if r.Public {
		gone = append(gone, "private")
	}
	if gone == nil {
		return r.By
	}
	return r.By + ", which the operator states to be not " + strings.Join(gone, " and not ")
}

// Label returns the label of the output for that of the input. Nothing takes away credentials, an alert, or the
// attribution to the origins of the data. Kinds of sources go that make data untrusted or private, if that goes.
func (r *Rule) Label(l label.Label) label.Label {
	if !r.Trusted && !r.Public {
		return l
	}
	imposed := map[label.Source]bool{label.UntrustedPublic: r.Trusted, label.Internal: r.Public, label.UserSource: r.Public}
	sources := l.Sources
	l.Sources = label.Set[label.Source]{}
	for source := range sources.All() {
		if !imposed[source] {
			l.Sources = l.Sources.Union(label.SetOf(source))
		}
	}
	l.Untrusted = l.Untrusted && !r.Trusted
	if r.Public {
		secret := l.Sensitivity.Has(label.Credentials)
		l.Private, l.Sensitivity, l.Readers = false, label.Set[label.Class]{}, label.Readers{}
		if secret {
			l.Sensitivity = label.SetOf(label.Credentials)
		}
	}
	return l.Normal()
}

// A Model answers questions about a text.
type Model interface {
	Answer(ctx context.Context, text string, look *vault.Look) (json.RawMessage, error)
}

// Sanitizers are the operator's, by name.
type Sanitizers struct {
	Rules   map[string]Rule
	Scanner *detect.Scanner // of Redact
	Model   Model           // of Summarize; nil: there is none

	Others string // names all else of the configuration by which outputs differ: canaries, and the model
}

// Stated names all that the operator states of labels, and all by which the outputs differ that these are of.
func (s *Sanitizers) Stated() string {
	if s == nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%v %q", s.Rules, s.Others))
	return hex.EncodeToString(sum[:8])
}

// maxSummary is how long the answer of a model may be, in bytes.
const maxSummary = 16 << 10

// Errors of a text that cannot be sanitized. They quote nothing of it.
var (
	errUnfound = errors.New("not all of the text could be searched")
	errModel   = errors.New("the quarantined model gave no text")
)

// Apply makes a text into another by the sanitizer of a name, which has to be there.
func (s *Sanitizers) Apply(ctx context.Context, name, text string) (string, error) {
	switch r := s.Rules[name]; r.By {
	case StripLinks:
		return stripLinks(text)
	case Truncate:
		n := min(r.Length, len(text))
		for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		return text[:n], nil
	case Redact:
		out, ok := s.Scanner.Redact([]byte(text), detect.Plain, func(detect.Finding) bool { return true })
		if !ok {
			return "", errUnfound
		}
		return string(out), nil
	case Summarize:
		return s.summary(ctx, &r, text)
	}
	return "", fmt.Errorf("no sanitizer %.80q", name)
}

func (s *Sanitizers) summary(ctx context.Context, r *Rule, text string) (string, error) {
	if s.Model == nil {
		return "", errModel
	}
	said, err := s.Model.Answer(ctx, text, &vault.Look{As: vault.Text, Question: r.Question})
	if err != nil {
		return "", fmt.Errorf("%w: %w", errModel, err)
	}
	answer, ok := rawjson.String(said)
	if !ok || len(answer) > maxSummary {
		return "", errModel
	}
	return answer, nil
}
