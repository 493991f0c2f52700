// Package lint examines the descriptions that servers give of their tools, and reports missing, wrong, contradictory
// and dangerous ones.
//
//	found := lint.Check([]lint.Server{{Name: "mail", Trust: contract.Known, Tools: tools}})
//	found.Sort()
//	err := report.Write(os.Stdout, report.Text, found)
//
// It reads definitions and calls nothing. It finds nothing outside of them: a tool that lies well passes. Messages
// quote text of servers, so they are hostile to any program that prints them; package report makes them harmless.
package lint

import (
	"github.com/weir-mcp/weir/internal/report"
)

// Check returns the findings in the definitions of some servers that agents use together.
func Check(servers []Server) report.Findings {
	l := &linter{findings: findings{report.Findings{Tool: "lint", Rules: Rules()}}}
	for i := range servers {
		l.server(&servers[i])
	}
	l.addresses()
	l.names()
	l.trifecta()
	return l.found
}
