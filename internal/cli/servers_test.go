package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/plain/plaintest"
)

// TestKnownServersAreAligned lists servers whose names have more bytes than characters.
func TestKnownServersAreAligned(t *testing.T) {
	shown := knownServers([]app.KnownServer{{Name: "büro", Processes: []int{7}}, {Name: "mails", Disabled: true}}, time.Now())
	if want := "büro                    served by 7\nmails                   disabled\n"; shown != want {
		t.Errorf("got\n%swant\n%s", shown, want)
	}
}

// TestStandingsAreShownPlainly lists servers whose breaches have hostile texts: none adds a line, or a character that does not print.
func TestStandingsAreShownPlainly(t *testing.T) {
	for _, text := range plaintest.Texts() {
		var s approve.Standing
		var k app.KnownServer
		plaintest.Fill(&s, text)
		plaintest.Fill(&k, text)
		shown := knownServers([]app.KnownServer{k}, time.Now()) + standings([]approve.Standing{s})
		lines := strings.Split(strings.TrimSuffix(shown, "\n"), "\n")
		if len(lines) != 3 {
			t.Errorf("%.80q: %d lines", text, len(lines))
		}
		for _, line := range lines {
			if why := plaintest.Line(line); why != "" {
				t.Errorf("%.80q: %s", text, why)
			}
		}
	}
}
