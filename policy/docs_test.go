package policy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"

	"github.com/weir-mcp/weir/internal/expression"
)

// TestManual holds docs/policy.md to the code: every fact with its type, every built-in rule, every limit.
func TestManual(t *testing.T) {
	data, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := string(data)
	var want []string
	for _, f := range facts {
		row := fmt.Sprintf("| `%s` | %s |", f.name, typeName(f.typ))
		if rest, ok := strings.CutPrefix(f.name, "tool.declared."); ok {
			row = fmt.Sprintf("| `tool.annotations.%s` | %s |", rest, typeName(f.typ)) // one row for both
		}
		want = append(want, row)
		for _, v := range f.values {
			want = append(want, "`"+v+"`")
		}
	}
	for _, r := range Default().Rules() {
		want = append(want, "### "+r.Name+"\n")
	}
	for _, limit := range []int{expression.MaxText, expression.MaxTexts, expression.MaxArguments >> 10, maxRules, expression.MaxCost} {
		want = append(want, thousands(limit))
	}
	for _, w := range want {
		if !strings.Contains(manual, w) {
			t.Errorf("docs/policy.md does not have %q", w)
		}
	}
	for line := range strings.Lines(manual) {
		if name, ok := strings.CutPrefix(line, "| `"); ok {
			name = name[:strings.Index(name, "`")]
			if _, known := factIndex[name]; !known && strings.Contains(name, ".") && !strings.Contains(name, "(") {
				t.Errorf("docs/policy.md explains %s, which is no fact", name)
			}
		}
	}
}

func typeName(t *cel.Type) string {
	switch {
	case t.IsExactType(textList):
		return "set"
	case t.IsExactType(cel.StringType):
		return "text"
	case t.IsExactType(cel.IntType):
		return "int"
	case t.IsExactType(cel.BoolType):
		return "bool"
	}
	return "object"
}

// thousands writes 4096 as 4,096.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// TestManualExamples loads every YAML and JSON example of the manual that is a whole policy.
func TestManualExamples(t *testing.T) {
	data, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for i, block := range strings.Split(string(data), "\n```") {
		info, text, _ := strings.Cut(block, "\n")
		language, _, _ := strings.Cut(info, " ") // a title may follow
		if i%2 == 0 || (language != "yaml" && language != "json") {
			continue
		}
		if _, err := Load(fmt.Sprintf("example %d", i), []byte(text)); err != nil {
			t.Error(err)
		}
		loaded++
	}
	if loaded < 2 {
		t.Errorf("%d examples", loaded)
	}
}
