package app

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/store/sqlstore"
)

// Retention that the role of the database may not do is told once, and other errors each time.
func TestDeniedRetentionToldOnce(t *testing.T) {
	var said bytes.Buffer
	o := &stateOpener{log: slog.New(slog.NewTextHandler(&said, nil))}
	other := errors.New("other")
	for range 3 {
		if err := o.exceptDenied(fmt.Errorf("erasing: %w", sqlstore.ErrDenied)); err != nil {
			t.Error(err)
		}
		if err := o.exceptDenied(other); !errors.Is(err, other) {
			t.Errorf("%v", err)
		}
	}
	if n := strings.Count(said.String(), "events are kept longer than retention says"); n != 1 {
		t.Errorf("told %d times:\n%s", n, said.String())
	}
}
