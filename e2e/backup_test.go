package e2e

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// backupsUnderLoad is how many backups TestBackupUnderLoad makes.
const backupsUnderLoad = 4

// TestBackupUnderLoad backs the state up while two weir make calls on it, and restores each backup elsewhere: its log
// verifies, and it holds the event and the label of everything that was acknowledged before the backup began.
func TestBackupUnderLoad(t *testing.T) {
	needEnabled(t)
	f, h := fleets["SQLite"].start(t, secretsStay), newHistory()
	var callers sync.WaitGroup
	for by, host := range f.hosts {
		for i := range fleetCallers {
			callers.Go(func() { host.call(t, h, by, i) })
		}
	}
	dir := t.TempDir()
	var moments []int
	for i := range backupsUnderLoad {
		time.Sleep(200 * time.Millisecond)
		h.mu.Lock()
		moments = append(moments, h.now)
		h.mu.Unlock()
		f.state.output(t, "state", "backup", "--keys", filepath.Join(dir, fmt.Sprint(i)))
	}
	callers.Wait()
	h.check(t, f.end(t))
	acknowledged := 0
	for i, moment := range moments {
		restored := *f.state
		restored.store = filepath.Join(dir, "restored", fmt.Sprint(i))
		restored.output(t, "state", "restore", filepath.Join(dir, fmt.Sprint(i)))
		restored.verify(t)
		before := h.before(moment)
		acknowledged += len(before.all)
		before.checkLabels(t, restored.evidence(t))
	}
	if acknowledged == 0 {
		t.Fatal("nothing was acknowledged before a backup")
	}
	t.Logf("%d calls, and %d of them acknowledged before each of the backups on average", len(h.all), acknowledged/backupsUnderLoad)
}

// before returns the operations that were answered before a moment.
func (h *history) before(moment int) *history {
	early := newHistory()
	for _, o := range h.all {
		if o.answered > 0 && o.answered <= moment && !o.refused {
			early.all = append(early.all, o)
		}
	}
	return early
}
