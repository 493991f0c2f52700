package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// conditions are of the kinds that operators write; benchmarks use them in turn.
var conditions = []string{
	`session.untrusted && "irreversible" in tool.annotations.inputMetadata.outcomes`,
	`tool.name == "delete_%d" && server.name != "files"`,
	`session.private && tool.annotations.openWorldHint && "public" in tool.declared.inputMetadata.destination`,
	`has(call.arguments.to) && call.arguments.to == "eve%d@example.com"`,
	`server.trust == "untrusted" && !call.plainRead && session.calls > %d000`,
}

func manyRules(n int) []byte {
	var b strings.Builder
	b.WriteString("version: 1\nrules:\n")
	for i := range n {
		condition := conditions[i%len(conditions)]
		if strings.Contains(condition, "%d") {
			condition = fmt.Sprintf(condition, i)
		}
		fmt.Fprintf(&b, "  - {name: rule-%d, when: call, effect: ask, if: '%s'}\n", i, condition)
	}
	return []byte(b.String())
}

func benchmarkFacts() *policy.Facts {
	declared := contract.Contract{
		ReadOnly: contract.No, Destructive: contract.No, OpenWorld: contract.Yes,
		Destinations: contract.Possible(contract.Internal), Outcomes: contract.Possible(contract.Consequential),
	}
	return &policy.Facts{
		Method: "tools/call",
		Tool:   policy.ToolFacts{Name: "send_mail", Declared: declared, Annotations: contract.Effective(declared, contract.Trusted)},
		Server: policy.ServerFacts{Name: "mail", Trust: contract.Trusted},
		Session: policy.SessionFacts{ID: "s", Calls: 12, Label: label.Label{
			Untrusted: true, Private: true, Sensitivity: label.SetOf(label.PII), Attribution: label.SetOf("mcp://files/a"),
		}},
		Arguments: []byte(`{"to":"ann@example.com","subject":"hello","body":"` + strings.Repeat("text ", 200) + `"}`),
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{20, 200} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) { benchmarkDecide(b, manyRules(n)) })
	}
	b.Run("default", func(b *testing.B) { benchmarkDecide(b, policy.DefaultSource()) })
}

func benchmarkDecide(b *testing.B, src []byte) {
	p, err := policy.Load("bench.yaml", src)
	if err != nil {
		b.Fatal(err)
	}
	f := benchmarkFacts()
	if d := p.Decide(f); len(d.Problems) > 0 {
		b.Fatal(d.Problems)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(f)
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{20, 200} {
		src := manyRules(n)
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := policy.Load("bench.yaml", src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
