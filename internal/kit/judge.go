package kit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Judge holds the answers of a reader against the lines that it was asked. It refuses answers to unknown lines, and
// two answers to one.
func Judge(lines []Line, answers []Answer) (Report, error) {
	byID := map[string]*Answer{}
	for i, a := range answers {
		if byID[a.ID] != nil {
			return Report{}, fmt.Errorf("two answers to the line %.200q", a.ID)
		}
		byID[a.ID] = &answers[i]
	}
	t := newTally()
	for _, l := range lines {
		a := byID[l.ID]
		delete(byID, l.ID)
		switch {
		case a == nil:
			t.count(l.check, l.ID, "there is no answer")
		case a.Unsupported:
			t.absent(l.check, "the reader says that it does not do this")
		case l.Task == taskRead:
			l.judgeReading(t, a)
		default:
			t.count(l.check, l.ID, l.differs(a))
		}
	}
	for id := range byID {
		return Report{}, fmt.Errorf("an answer to a line that was not asked: %.200q", id)
	}
	return t.report("reader"), nil
}

// judgeReading counts the reading of a document: its meaning, its defects, and, where the reader tells of these,
// their paths, references to evidence and statements.
func (l *Line) judgeReading(t *tally, a *Answer) {
	v, name := l.read, l.Dialect+"."+l.Place
	of := func(aspect string, level Level, summary string) Check {
		return Check{aspect + "." + name, level, l.check.Section, summary}
	}
	if v.Place == "tool" || v.Place == "resolved" {
		t.count(l.check, l.ID, unequal(contractText(v.Contract), contractText(a.Contract)))
	} else {
		t.count(l.check, l.ID, unequal(labelText(v.Label), labelText(a.Label)))
	}
	defects := of("defects", Must, "values that the dialect does not allow are noticed, and no others")
	if a.Defects == nil {
		t.absent(defects, "the reader does not tell of defects")
	} else {
		t.count(defects, l.ID, unequal(strconv.FormatBool(v.Kind == "invalid"), strconv.FormatBool(len(*a.Defects) > 0)))
		if v.Kind == "invalid" && len(*a.Defects) > 0 {
			t.count(of("paths", Should, "the paths of all values that the dialect does not allow"), l.ID, unequal(sorted(v.Defects), sorted(*a.Defects)))
		}
	}
	if v.Stated != nil {
		stated := of("stated", Should, "the statement of a result, member by member, so that it can be held against the tool's declaration")
		if a.Stated == nil {
			t.absent(stated, "the reader does not tell of statements")
		} else {
			t.count(stated, l.ID, unequal(contractText(v.Stated), contractText(a.Stated)))
		}
	}
	if len(v.Evidence) > 0 || len(a.Evidence) > 0 {
		t.count(of("evidence", Should, "the references to evidence, in the order of the document"), l.ID, unequal(text(v.Evidence), text(a.Evidence)))
	}
}

// differs returns the difference between an answer and the expected one, or "".
func (l *Line) differs(a *Answer) string {
	switch {
	case l.Task == taskWrite && a.Document != nil:
		return unequal(string(rawjson.Canonical([]byte(l.want))), string(rawjson.Canonical(a.Document)))
	case l.Task == taskDigest && a.Digest != nil:
		return unequal(l.want, *a.Digest)
	case l.Task == taskMessage && a.Valid != nil:
		return unequal(l.want, strconv.FormatBool(*a.Valid))
	}
	return "the answer has no member for the task " + l.Task
}

// maxQuote is the number of bytes of either side that a difference shows.
const maxQuote = 300

func unequal(want, got string) string {
	if want == got {
		return ""
	}
	return fmt.Sprintf("want %.*s, got %.*s", maxQuote, want, maxQuote, got)
}

func sorted(words []string) string { return text(slices.Sorted(slices.Values(words))) }

// contractText returns a text that is the same for equal contracts.
func contractText(c conformance.Contract) string {
	c = maps.Clone(c)
	for name, value := range c {
		if words, ok := value.([]any); ok {
			c[name] = inOrder(words)
		}
	}
	if len(c) == 0 {
		return "{}"
	}
	return text(c)
}

// inOrder returns the JSON of values, sorted.
func inOrder(values []any) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = text(v)
	}
	slices.Sort(all)
	return all
}

// labelText returns a text that is the same for equal labels.
func labelText(l *conformance.Label) string {
	if l == nil {
		return "{}"
	}
	same := *l
	for _, words := range []*[]string{&same.Sensitivity, &same.Sources, &same.Attribution} {
		*words = slices.Sorted(slices.Values(*words))
	}
	if l.Readers != nil {
		readers := append([]string{}, slices.Sorted(slices.Values(*l.Readers))...)
		same.Readers = &readers
	}
	return text(same)
}

// text returns a value as JSON with its members in order.
func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error() // of a value that came from JSON
	}
	return string(rawjson.Canonical(data))
}
