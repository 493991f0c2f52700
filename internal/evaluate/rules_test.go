package evaluate_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/evaluate"
	"github.com/weir-mcp/weir/policy"
)

var updateRules = flag.Bool("rules.update", false, "measure each rule of the built-in policy, and write the table of docs/policy.md anew")

// policyManual holds the table of rules.
const policyManual = "../../docs/policy.md"

// ruleTable is the table of rules in the manual.
var ruleTable = regexp.MustCompile(`(?m)^\| rule \| attacks stopped by it alone, days \|.*\n\|[ -|]*\n((?:\| .*\n)+)`)

// An outcome is the figures of a policy on the days and on the suites, with the user's words.
type outcome struct{ through, asked [2]int }

// measure replays the days and the suites with the user's words.
func measure(t *testing.T, p *policy.Policy) (o outcome) {
	t.Helper()
	for _, d := range days {
		r, err := evaluate.RunDay(t.Context(), loadDay(t, d.file), true, evaluate.Options{Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		o.through[0] += len(r.Through)
		o.asked[0] += len(r.Asked)
	}
	report, err := evaluate.Run(t.Context(), loadSuites(t), evaluate.Options{Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	o.through[1] = report.Row(evaluate.All, evaluate.Mode{Words: true}).Through
	o.asked[1] = report.Row(evaluate.All, evaluate.Mode{Words: true, Accepts: true}).Questions
	return o
}

// without returns the built-in policy without one of its rules.
func without(t *testing.T, rule string) *policy.Policy {
	t.Helper()
	const item = "\n  - name: "
	blocks := strings.Split(string(policy.DefaultSource()), item)
	kept := blocks[:1:1]
	for _, b := range blocks[1:] {
		if name, _, _ := strings.Cut(b, "\n"); name != rule {
			kept = append(kept, b)
		}
	}
	p, err := policy.Load("without "+rule, []byte(strings.Join(kept, item)))
	if err != nil || len(kept) != len(blocks)-1 {
		t.Fatalf("without %s: %d of %d rules, %v", rule, len(kept)-1, len(blocks)-1, err)
	}
	return p
}

// TestRules holds that the manual has a row for each rule of the built-in policy. With -rules.update it measures them.
func TestRules(t *testing.T) {
	manual, err := os.ReadFile(policyManual)
	if err != nil {
		t.Fatal(err)
	}
	at := ruleTable.FindSubmatchIndex(manual)
	if at == nil {
		t.Fatal("the manual has no table of rules")
	}
	all := policy.Default().Rules()
	if *updateRules {
		whole := measure(t, policy.Default())
		var rows strings.Builder
		for _, r := range all {
			o := measure(t, without(t, r.Name))
			fmt.Fprintf(&rows, "| `%s` | %d | %d | %d | %d |\n", r.Name, o.through[0]-whole.through[0], o.through[1]-whole.through[1],
				whole.asked[0]-o.asked[0], whole.asked[1]-o.asked[1])
		}
		manual = []byte(string(manual[:at[2]]) + rows.String() + string(manual[at[3]:]))
		if err := os.WriteFile(policyManual, manual, 0o644); err != nil {
			t.Fatal(err)
		}
		at = ruleTable.FindSubmatchIndex(manual)
	}
	rows := strings.Split(strings.TrimSpace(string(manual[at[2]:at[3]])), "\n")
	if len(rows) != len(all) {
		t.Fatalf("%d rows for %d rules: go test ./internal/evaluate -run TestRules -rules.update -timeout 30m", len(rows), len(all))
	}
	for i, r := range all {
		if !strings.HasPrefix(rows[i], "| `"+r.Name+"` |") {
			t.Errorf("row %d is not of %s: %s", i+1, r.Name, rows[i])
		}
	}
}
