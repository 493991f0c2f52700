package watch

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// TestBursts tells of a burst of changes once, when nothing more has happened for a while, or when it has lasted for long.
func TestBursts(t *testing.T) {
	const settle = 30 * time.Millisecond
	for name, test := range map[string]struct {
		pauses []time.Duration // before each change
		told   []time.Duration // since the first change
	}{
		"one change":                 {[]time.Duration{0}, []time.Duration{settle}},
		"written in pieces":          {[]time.Duration{0, settle / 3, settle / 3, settle - 1}, []time.Duration{2*(settle/3) + settle - 1 + settle}},
		"two changes":                {[]time.Duration{0, settle + 1}, []time.Duration{settle, 2*settle + 1}},
		"changes that never settle":  {slices.Repeat([]time.Duration{settle / 2}, 3*longest), []time.Duration{longest * settle, longest*settle + settle/2 + 9*settle/2 + settle/2}},
		"changes at the same moment": {make([]time.Duration, 1000), []time.Duration{settle}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &Watcher{
					settle: settle, system: &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)},
					changed: make(chan struct{}, 1), files: map[string]string{"/a": "/a"},
				}
				w.running.Go(w.run)
				var first time.Time
				var told []time.Duration
				w.running.Go(func() {
					for range w.changed {
						told = append(told, time.Since(first))
					}
				})
				for _, pause := range test.pauses {
					time.Sleep(pause)
					if first.IsZero() {
						first = time.Now()
					}
					w.system.Events <- fsnotify.Event{Name: "/a", Op: fsnotify.Write}
				}
				time.Sleep(time.Minute)
				close(w.system.Events)
				w.running.Wait()
				if !slices.Equal(told, test.told) {
					t.Errorf("told after %v, want %v", told, test.told)
				}
			})
		})
	}
}
