package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// passages adds every text in an entry of a list: names, titles, descriptions, those of its schema, defaults, texts of
// icons.
func (l *linter) passages(s *Server, subject string, value json.RawMessage, depth int) {
	if depth > maxDepth {
		return
	}
	switch rawjson.Kind(value) {
	case '[':
		for element := range rawjson.Elements(value) {
			l.passages(s, subject, element, depth+1)
		}
	case '{':
		for name, value := range rawjson.Members(value) {
			l.text(s, subject, name)
			l.passages(s, subject, value, depth+1)
		}
	case '"':
		text, _ := rawjson.String(value)
		l.text(s, subject, text)
	}
}

// Phrases by which a text turns from the description of a thing to orders to its reader, beside those of package
// detect. A description is about the tool; an instruction names an occasion that is not the tool's own, or the tools of
// others.
var (
	occasion = pattern.New(`(?i)\b(?:before|after|prior\s+to|whenever|each\s+time|every\s+time|as\s+soon\s+as)\b[^.;]{0,80}?` +
		`\b(?:anything|everything|something|any\s+other|every\s+other|all\s+other|other\s+tools?|you|answering|responding|replying|continuing|proceeding|starting)\b` +
		`[^.;]{0,80}?\b(?:read|open|load|fetch|get|visit|send|post|mail|e-?mail|upload|forward|copy|write|call|invoke|use|run|execute|delete|remove|merge|transfer)\b`)
	duty = pattern.New(`(?i)\b(?:you|(?:the\s+)?(?:assistant|model|agent|ai|llm))\s+(?:must|should|shall|need\s+to|have\s+to|has\s+to|needs\s+to|are\s+required\s+to|will\s+always|always)\b`)
)

// addresses looks for text that gives orders to the model, by itself or with tools of other servers.
func (l *linter) addresses() {
	for _, p := range l.read {
		why := ""
		if occasion().MatchString(p.text) {
			why = "it instructs the model for occasions that are not the tool's own"
		}
		if other := l.namesOther(p); other != "" {
			verb := "names"
			if duty().MatchString(p.text) {
				verb = "tells the model to use"
			}
			why = strings.TrimPrefix(why+"; it "+verb+" "+other, "; ")
		}
		if why != "" {
			l.add(Addressed, p.server.Name, p.subject, why, "read it as the model does: it need not have anything to do with the tool")
		}
	}
}

// namesOther returns the first tool of another server that a text names; "" if it names none. Names that are ordinary
// words are not looked for.
func (l *linter) namesOther(p passage) string {
	words := strings.FieldsFunc(p.text, func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, t := range l.tools {
		own := slices.ContainsFunc(p.server.Tools, func(raw json.RawMessage) bool { return text(raw, "name") == t.name })
		if t.server != p.server && !own && strings.ContainsAny(t.name, "_-") && slices.Contains(words, t.name) {
			return fmt.Sprintf("%s of %s", t.name, t.server.Name)
		}
	}
	return ""
}

// AboutText reports whether a rule is about text that a model reads, and so about text that a person reviews.
func AboutText(rule string) bool {
	return slices.Contains([]string{Poisoned, SecretPlace, SecretValue, Addressed, LookAlike, Suspicious}, rule)
}

// maxDepth is how deep definitions are looked into.
const maxDepth = 12

// text looks for dangerous parts of text that a model reads.
func (l *linter) text(s *Server, subject, text string) {
	l.read = append(l.read, passage{s, subject, text})
	for _, f := range detect.Definitions().Scan([]byte(text), detect.Plain, nil).Findings {
		if rule, hint := ruleOf(f); rule != "" {
			l.add(rule, s.Name, subject, fmt.Sprintf("at byte %d of its text: %s", f.Offset, f.Why), hint)
		}
	}
}

// ruleOf returns the rule that a finding in a definition breaks, and the remedy; "" if it breaks none.
func ruleOf(f detect.Finding) (rule, hint string) {
	switch {
	case f.Kind == detect.Secret:
		return SecretPlace, "look whether the description needs it"
	case f.Class == detect.Injection && f.Level() == detect.Note:
		return Addressed, "read it as the model does: it need not have anything to do with the tool"
	case f.Class == detect.Injection:
		return Poisoned, "do not use this server before you know why"
	case f.Class == detect.Credentials && f.Confidence == detect.High:
		return SecretValue, "revoke it, and take it out of the definition"
	}
	return "", ""
}
