package cli

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/plain/plaintest"
)

// TestStandingsAreShownPlainly lists servers whose breaches have hostile texts: none adds a line, or a character that does not print.
func TestStandingsAreShownPlainly(t *testing.T) {
	for _, text := range plaintest.Texts() {
		var s approve.Standing
		plaintest.Fill(&s, text)
		shown := standings([]approve.Standing{s})
		lines := strings.Split(strings.TrimSuffix(shown, "\n"), "\n")
		if len(lines) != 2 {
			t.Errorf("%.80q: %d lines", text, len(lines))
		}
		for _, line := range lines {
			if why := plaintest.Line(line); why != "" {
				t.Errorf("%.80q: %s", text, why)
			}
		}
	}
}
