package searcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/pattern"
)

// certain is the score from which a finding of Presidio has high confidence.
const certain = 0.85

// An entity is a finding of Presidio. Its places count characters.
type entity struct {
	Type  string  `json:"entity_type"`
	Start int     `json:"start"`
	End   int     `json:"end"`
	Score float64 `json:"score"`
}

// entityType is a type that can be part of the kind of a finding.
var entityType = pattern.New(`^[A-Z0-9_]{1,40}$`)

// financial are the types of entities that are numbers of cards and accounts.
var financial = []string{"CREDIT_CARD", "IBAN_CODE", "US_BANK_NUMBER", "CRYPTO"}

func presidioRequest(o *Options, text string) any {
	language := o.Language
	if language == "" {
		language = "en"
	}
	return map[string]any{"text": text, "language": language, "score_threshold": o.Threshold}
}

func presidioFindings(o *Options, answer, text []byte) (found []detect.Finding, err error) {
	var all []entity
	if err := json.Unmarshal(answer, &all); err != nil {
		return nil, err
	}
	places := characters(text)
	for _, e := range all {
		if !entityType().MatchString(e.Type) || e.Start < 0 || e.End <= e.Start || e.End >= len(places) {
			return nil, errors.New("an entity has no type, or is outside of the text")
		}
		if e.Score < o.Threshold {
			continue
		}
		f := detect.Finding{
			Kind: detect.Kind(o.Name + ":" + strings.ToLower(e.Type)), Why: strings.ToLower(e.Type), Class: detect.Personal, Confidence: detect.Medium,
			Offset: places[e.Start], Size: places[e.End] - places[e.Start],
		}
		if slices.Contains(financial, e.Type) {
			f.Class = detect.Financial
		}
		if e.Score >= certain {
			f.Confidence = detect.High
		}
		found = append(found, f)
	}
	return found, nil
}

// characters returns where each character of a text begins, and its end.
func characters(text []byte) []int {
	places := make([]int, 0, len(text)+1)
	for i := 0; i < len(text); {
		places = append(places, i)
		_, n := utf8.DecodeRune(text[i:])
		i += n
	}
	return append(places, len(text))
}

// A score is the answer of a classifier for one label.
type score struct {
	Label string  `json:"label"`
	Score float64 `json:"score"`
}

func classifierRequest(_ *Options, text string) any {
	return map[string]any{"inputs": text, "truncate": true}
}

// classifierFindings reads a list of scores, or a list with one such list.
func classifierFindings(o *Options, answer, text []byte) ([]detect.Finding, error) {
	var scores []score
	if err := json.Unmarshal(answer, &scores); err != nil {
		var lists [][]score
		if err := json.Unmarshal(answer, &lists); err != nil || len(lists) != 1 {
			return nil, errors.New("the answer is no list of labels with scores")
		}
		scores = lists[0]
	}
	for _, s := range scores {
		if s.Score >= o.Threshold && slices.Contains(o.Labels, s.Label) {
			return instructions(o, s, text), nil
		}
	}
	return nil, nil
}

func moderationRequest(_ *Options, text string) any { return map[string]any{"input": text} }

// moderationFindings reads an answer that has scores by category.
func moderationFindings(o *Options, answer, text []byte) ([]detect.Finding, error) {
	var a struct {
		Results []struct {
			Scores map[string]float64 `json:"category_scores"`
		} `json:"results"`
	}
	if err := json.Unmarshal(answer, &a); err != nil || len(a.Results) != 1 {
		return nil, errors.New("the answer has no result")
	}
	for _, name := range o.Labels {
		if s := a.Results[0].Scores[name]; s >= o.Threshold {
			return instructions(o, score{name, s}, text), nil
		}
	}
	return nil, nil
}

// instructions returns the finding that a text as a whole speaks to the model. A classifier alone makes nothing
// malicious.
func instructions(o *Options, s score, text []byte) []detect.Finding {
	return []detect.Finding{{
		Kind: detect.Kind(o.Name), Class: detect.Injection, Confidence: detect.Medium, Size: len(text),
		Why: fmt.Sprintf("is %.40s for %s, with a score of %.2f", s.Label, o.Name, s.Score),
	}}
}
