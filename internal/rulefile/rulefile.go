// Package rulefile reads rules for secrets in the TOML form that several secret scanners share, and searches text by
// them.
package rulefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/pattern"
)

// A file is a file of rules as it is written.
type file struct {
	Title      string      `toml:"title"`
	MinVersion string      `toml:"minVersion"`
	Rules      []rawRule   `toml:"rules"`
	Allowlist  *rawAllow   `toml:"allowlist"`
	Allowlists []*rawAllow `toml:"allowlists"`
}

type rawRule struct {
	ID          string      `toml:"id"`
	Description string      `toml:"description"`
	Regex       string      `toml:"regex"`
	Path        string      `toml:"path"`
	SecretGroup int         `toml:"secretGroup"`
	Entropy     float64     `toml:"entropy"`
	Keywords    []string    `toml:"keywords"`
	Tags        []string    `toml:"tags"`
	Allowlist   *rawAllow   `toml:"allowlist"`
	Allowlists  []*rawAllow `toml:"allowlists"`
}

type rawAllow struct {
	Description string   `toml:"description"`
	TargetRules []string `toml:"targetRules"`
	Condition   string   `toml:"condition"`
	Commits     []string `toml:"commits"`
	Paths       []string `toml:"paths"`
	RegexTarget string   `toml:"regexTarget"`
	Regexes     []string `toml:"regexes"`
	Stopwords   []string `toml:"stopwords"`
}

// A Rule is a rule of a file. Its expression is one of RE2, so that matching is linear.
type Rule struct {
	ID          string
	Description string
	regex, path *regexp.Regexp
	group       int
	entropy     float64
	keywords    []string // in lower case
	allowed     []*allow
}

// An allow is values that a rule leaves out.
type allow struct {
	every            bool // all of its kinds of conditions have to hold
	target           string
	paths, values    []*regexp.Regexp
	stopwords, rules []string
}

// Rules are the rules of a file.
type Rules []*Rule

// Load reads a file of rules. An error tells the file, and the line or the rule.
func Load(name string, src []byte) (Rules, error) {
	var f file
	d := toml.NewDecoder(strings.NewReader(string(src)))
	if err := d.DisallowUnknownFields().Decode(&f); err != nil {
		return nil, located(name, err)
	}
	if len(f.Rules) == 0 {
		return nil, fmt.Errorf("%s: it has no rules: add one as [[rules]] with id and regex", name)
	}
	everywhere, err := allowsOf(f.Allowlist, f.Allowlists)
	if err != nil {
		return nil, fmt.Errorf("%s: allowlist: %w", name, err)
	}
	var rules Rules
	seen := map[string]bool{}
	for i, raw := range f.Rules {
		r, err := raw.rule()
		switch {
		case raw.ID != "" && !id().MatchString(raw.ID):
			return nil, fmt.Errorf("%s:%d: rule %d: the id %+.80q stands in placeholders and logs: write it with at most 64 letters, digits, "+
				"dots, underscores and hyphens", name, lineOf(src, i), i+1, raw.ID)
		case err != nil:
			return nil, fmt.Errorf("%s: rule %d %q: %w", name, i+1, raw.ID, err)
		case seen[r.ID]:
			return nil, fmt.Errorf("%s: rule %d: the id %q is taken: give it another", name, i+1, r.ID)
		}
		seen[r.ID] = true
		for _, a := range everywhere {
			if len(a.rules) == 0 || slices.Contains(a.rules, r.ID) {
				r.allowed = append(r.allowed, a)
			}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// id is the form of the ids that rule files of others have.
var id = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// header is the line that begins a rule.
var header = pattern.New(`(?m)^[ \t]*\[\[[ \t]*rules[ \t]*\]\]`)

// lineOf returns the line in which a rule begins.
func lineOf(src []byte, rule int) int {
	all := header().FindAllIndex(src, rule+1)
	if len(all) <= rule { // written in another way
		return 1
	}
	return 1 + bytes.Count(src[:all[rule][0]], []byte{'\n'})
}

// located adds the place to an error of the decoder.
func located(name string, err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		line, _ := unknown.Errors[0].Position()
		return fmt.Errorf("%s:%d: unknown member %s: remove it", name, line, strings.Join(unknown.Errors[0].Key(), "."))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, column := bad.Position()
		return fmt.Errorf("%s:%d:%d: %s", name, line, column, bad.Error())
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (raw *rawRule) rule() (*Rule, error) {
	r := &Rule{ID: raw.ID, Description: raw.Description, group: raw.SecretGroup, entropy: raw.Entropy}
	if r.Description == "" {
		r.Description = r.ID
	}
	if r.ID == "" || raw.Regex == "" && raw.Path == "" {
		return nil, errors.New("a rule needs an id, and a regex or a path")
	}
	var err error
	if r.regex, err = expression(raw.Regex); err != nil {
		return nil, err
	}
	if r.path, err = expression(raw.Path); err != nil {
		return nil, err
	}
	if r.regex != nil && (r.group < 0 || r.group > r.regex.NumSubexp()) {
		return nil, fmt.Errorf("secretGroup is %d, and the regex has %d groups", r.group, r.regex.NumSubexp())
	}
	for _, word := range raw.Keywords {
		r.keywords = append(r.keywords, strings.ToLower(word))
	}
	r.allowed, err = allowsOf(raw.Allowlist, raw.Allowlists)
	return r, err
}

func expression(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	return regexp.Compile(text)
}

func allowsOf(one *rawAllow, more []*rawAllow) (all []*allow, err error) {
	if one != nil {
		more = append([]*rawAllow{one}, more...)
	}
	for _, raw := range more {
		a := &allow{target: raw.RegexTarget, rules: raw.TargetRules}
		switch strings.ToUpper(raw.Condition) {
		case "", "OR", "||":
		case "AND", "&&":
			a.every = true
		default:
			return nil, fmt.Errorf("the condition %q is neither AND nor OR", raw.Condition)
		}
		if t := raw.RegexTarget; t != "" && t != "secret" && t != "match" && t != "line" {
			return nil, fmt.Errorf("the regexTarget %q is none of secret, match and line", t)
		}
		for _, list := range []struct {
			from []string
			to   *[]*regexp.Regexp
		}{{raw.Paths, &a.paths}, {raw.Regexes, &a.values}} {
			for _, text := range list.from {
				e, err := regexp.Compile(text)
				if err != nil {
					return nil, err
				}
				*list.to = append(*list.to, e)
			}
		}
		for _, word := range raw.Stopwords {
			a.stopwords = append(a.stopwords, strings.ToLower(word))
		}
		all = append(all, a)
	}
	return all, nil
}

// Scan returns the values that the rules find in a text, as it stands, that came from a path. The salt is that of their
// digests.
func (rules Rules) Scan(text []byte, path string, salt []byte) (found []detect.Finding) {
	folded := strings.ToLower(string(text))
	for _, r := range rules {
		if r.regex == nil || r.path != nil && !r.path.MatchString(path) || !r.mentioned(folded) {
			continue
		}
		for _, at := range r.regex.FindAllSubmatchIndex(text, -1) {
			start, end := r.secret(at)
			if start == end || detect.Entropy(text[start:end]) < r.entropy || r.allows(text, path, at, start, end) {
				continue
			}
			sum := sha256.Sum256(append(append([]byte{}, salt...), text[start:end]...))
			found = append(found, detect.Finding{
				Kind: detect.Kind(r.ID), Why: r.Description, Class: detect.Credentials, Confidence: detect.High,
				Offset: at[0], Size: at[1] - at[0], ValueOffset: start, ValueSize: end - start, Digest: "sha256:" + hex.EncodeToString(sum[:]),
			})
		}
	}
	return found
}

// Search returns the values that the rules find in a text of no path: it is a [detect.Search].
func (rules Rules) Search(text []byte) []detect.Finding { return rules.Scan(text, "", nil) }

// mentioned reports whether a text, in lower case, has one of the keywords.
func (r *Rule) mentioned(folded string) bool {
	return len(r.keywords) == 0 || anyStands(r.keywords, folded)
}

// secret returns where the secret of a match is: in the group that the rule names, or in the first that has text, or
// all of it.
func (r *Rule) secret(at []int) (start, end int) {
	if r.group > 0 {
		return max(at[2*r.group], 0), max(at[2*r.group+1], 0)
	}
	for i := 2; i+1 < len(at); i += 2 {
		if at[i] < at[i+1] {
			return at[i], at[i+1]
		}
	}
	return at[0], at[1]
}

// allows reports whether an allowlist leaves a match out.
func (r *Rule) allows(text []byte, path string, at []int, start, end int) bool {
	for _, a := range r.allowed {
		target := text[start:end]
		switch a.target {
		case "match":
			target = text[at[0]:at[1]]
		case "line":
			target = line(text, at[0], at[1])
		}
		held, kinds := 0, 0
		count := func(n int, holds bool) {
			if n > 0 {
				kinds++
			}
			if holds {
				held++
			}
		}
		count(len(a.paths), anyMatches(a.paths, []byte(path)))
		count(len(a.values), anyMatches(a.values, target))
		count(len(a.stopwords), anyStands(a.stopwords, strings.ToLower(string(text[start:end]))))
		if held > 0 && (!a.every || held == kinds) {
			return true
		}
	}
	return false
}

func line(text []byte, start, end int) []byte {
	for start > 0 && text[start-1] != '\n' {
		start--
	}
	for end < len(text) && text[end] != '\n' {
		end++
	}
	return text[start:end]
}

func anyMatches(all []*regexp.Regexp, text []byte) bool {
	return slices.ContainsFunc(all, func(e *regexp.Regexp) bool { return e.Match(text) })
}

func anyStands(words []string, text string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}
