package approval_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/plain/plaintest"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// TestReportedIsShownPlainly shows hostile texts of results that were reported as malicious.
func TestReportedIsShownPlainly(t *testing.T) {
	for _, text := range append(plaintest.Texts(), strings.Repeat("\x1b[2J", 5000)) {
		q := &guard.Question{Phase: policy.OnResult, Server: "web", Method: "tools/call", Name: "fetch", Label: label.Label{Malicious: true}, Rule: "r"}
		q.Reported = &guard.Reported{Server: true, Findings: []string{text}, Excerpt: text}
		p := approval.NewPrompt(q)
		if len(p.Reports) != 2 || !strings.HasPrefix(p.Reports[0], `Reported as malicious by server web: "`) ||
			!strings.HasPrefix(p.Reports[1], `A part of its text, in the words of others: "`) {
			t.Errorf("%.80q: %.400q", text, p.Reports)
		}
		if shown := p.Text(); len(shown) > 16000 || strings.Count(shown, "\n") != 5 {
			t.Errorf("%.80q: %d lines, %d bytes", text, strings.Count(shown, "\n"), len(shown))
		}
		for _, line := range p.Reports {
			if why := plaintest.Line(line); why != "" {
				t.Errorf("%.80q: %s", text, why)
			}
		}
		if q.Reported.Bare = "its structured content"; !strings.Contains(approval.NewPrompt(q).Note, "No warning can be put before a part of it: its structured content.") {
			t.Errorf("the note is %q", approval.NewPrompt(q).Note)
		}
		for _, line := range p.Summary() { // which goes to places that show less
			if strings.Contains(line, "words of others") {
				t.Errorf("the summary has %q", line)
			}
		}
	}
}
