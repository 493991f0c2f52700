package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.RunBackend(t, func(t *testing.T, now func() time.Time) store.Backend {
		return store.NewMemory(&store.MemoryOptions{Now: now})
	})
}

func TestMemoryIsBounded(t *testing.T) {
	m := store.NewMemory(&store.MemoryOptions{MaxSessions: 2})
	open := func(key, parent string) error {
		_, _, err := m.Open(t.Context(), store.Ref{Key: key, Parent: parent, Principal: "alice"}, store.Limits{})
		return err
	}
	for _, step := range []struct {
		key, parent string
		want        error
	}{
		{"a", "", nil},
		{"b", "c", store.ErrFull}, // two sessions more
		{"b", "", nil},
		{"c", "", store.ErrFull},
		{"b", "c", store.ErrFull},
		{"c", "b", store.ErrFull},
		{"b", "a", nil},
		{"a", "", nil},
	} {
		if err := open(step.key, step.parent); !errors.Is(err, step.want) {
			t.Errorf("opening %q under %q: got error %v, want %v", step.key, step.parent, err, step.want)
		}
	}
	if _, _, err := m.Join(t.Context(), "b", label.Label{Untrusted: true}, store.Limits{}); err != nil {
		t.Errorf("a full store must still raise labels: %v", err)
	}
}
