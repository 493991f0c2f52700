package policy

import (
	goflag "flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/expression"
)

var update = goflag.Bool("update", false, "write the tables of facts in the manual anew")

const manualFile = "../docs/policy.md"

// TestManual holds docs/policy.md to the code: every fact with its type and meaning, every built-in rule, every limit.
func TestManual(t *testing.T) {
	data, err := os.ReadFile(manualFile)
	if err != nil {
		t.Fatal(err)
	}
	manual := string(data)
	groups := [][]fact{
		slices.Concat(toolFacts, contractFacts(places[0])), slices.Concat(sessionFacts, requestFacts),
		slices.Concat(callFacts, serverFacts), slices.Concat(argumentFacts, callFindings),
		slices.Concat(responseFacts, responseFindings),
	}
	if now := withTables(t, manual, groups); now != manual {
		if *update {
			if err := os.WriteFile(manualFile, []byte(now), 0o644); err != nil {
				t.Fatal(err)
			}
			manual = now
		} else {
			t.Errorf("the tables of facts are not those of the vocabulary: go test ./policy -run TestManual -update\n%s", cmp.Diff(manual, now))
		}
	}
	explained := 0
	for _, g := range groups {
		explained += len(g)
	}
	if explained+len(members) != len(facts) { // tool.declared has the members of tool.annotations
		t.Errorf("%d facts of %d are in a table", explained, len(facts)-len(members))
	}
	var want []string
	for _, f := range facts {
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
}

// factsHeader is the header of a table of facts.
const factsHeader = "| fact | type | meaning |\n| --- | --- | --- |\n"

// withTables returns the manual with its tables of facts written anew, one for each group.
func withTables(t *testing.T, manual string, groups [][]fact) string {
	t.Helper()
	parts := strings.Split(manual, factsHeader)
	if len(parts) != len(groups)+1 {
		t.Fatalf("%d tables of facts for %d groups", len(parts)-1, len(groups))
	}
	var b strings.Builder
	b.WriteString(parts[0])
	for i, g := range groups {
		b.WriteString(factsHeader)
		for _, f := range g {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, typeName(f.typ), f.meaning)
			if f.meaning == "" || f.standing == 0 {
				t.Errorf("%s has no meaning, or no standing", f.name)
			}
		}
		_, rest, _ := strings.Cut("\n"+parts[i+1], "\n\n")
		b.WriteString("\n" + rest)
	}
	return b.String()
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
	data, err := os.ReadFile(manualFile)
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
