// Package watch tells when files change.
//
//	w, err := watch.New(settle)
//	err = w.Set("weir.yaml", "policy.yaml")
//	for range w.Changed() { … }
//
// The directories of the files are watched, not the files: editors replace a file by another of its name, and a mounted
// configuration changes by a symbolic link on the way to it. A signal means that a file may have changed, some time
// after the last of a burst of changes; to know the changes, read the files. There are no signals for other files in
// the same directories.
package watch

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// longest bounds how long a burst of changes can put off that it is told, in multiples of the time to settle.
const longest = 10

// A Watcher watches files. Make one with [New] and end it with Close. It is safe for concurrent use.
type Watcher struct {
	settle  time.Duration
	system  *fsnotify.Watcher
	changed chan struct{}
	running sync.WaitGroup

	mu    sync.Mutex
	files map[string]string // absolute path to where it leads, "" if nowhere
}

// New returns a watcher of no files. It tells of a change when nothing more has happened for as long as settle.
func New(settle time.Duration) (*Watcher, error) {
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching files: %w", err)
	}
	w := &Watcher{settle: settle, system: system, changed: make(chan struct{}, 1), files: map[string]string{}}
	w.running.Go(w.run)
	return w, nil
}

// Set watches these files, which need not exist, and no others.
func (w *Watcher) Set(paths ...string) error {
	files := map[string]string{}
	var dirs []string
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		files[abs] = target(abs)
		dirs = append(dirs, filepath.Dir(abs))
		if files[abs] != "" && files[abs] != abs {
			dirs = append(dirs, filepath.Dir(files[abs]))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files = files
	var errs []error
	for _, dir := range w.system.WatchList() {
		if !slices.Contains(dirs, dir) {
			errs = append(errs, w.system.Remove(dir))
		}
	}
	for _, dir := range dirs {
		errs = append(errs, w.system.Add(dir)) // again is no harm
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("watching files: %w", err)
	}
	return nil
}

// Changed returns a channel that receives after changes. Several that nobody has taken notice of are one. It is closed
// by Close.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// Close ends the watching, and waits for it.
func (w *Watcher) Close() error {
	err := w.system.Close()
	w.running.Wait()
	return err
}

// run turns events of the system into bursts, and tells of them.
func (w *Watcher) run() {
	defer close(w.changed)
	var began time.Time
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case event, ok := <-w.system.Events:
			switch {
			case !ok:
				return
			case !w.concerns(event):
				continue
			case began.IsZero():
				began = time.Now()
			}
			quiet.Reset(min(w.settle, max(0, longest*w.settle-time.Since(began))))
		case _, ok := <-w.system.Errors:
			if !ok {
				return
			}
			quiet.Reset(w.settle) // events may be lost
		case <-quiet.C:
			began = time.Time{}
			select {
			case w.changed <- struct{}{}:
			default:
			}
		}
	}
}

// concerns reports whether an event is about one of the files, or about a link on the way to one.
func (w *Watcher) concerns(event fsnotify.Event) bool {
	if event.Op == fsnotify.Chmod {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for file, led := range w.files {
		if event.Name == file || event.Name == led {
			return true
		}
	}
	if event.Op == fsnotify.Write {
		return false
	}
	moved := false
	for file, led := range w.files {
		if leads := target(file); leads != led {
			w.files[file], moved = leads, true
		}
	}
	return moved
}

// target returns where a path leads, "" if nowhere.
func target(path string) string {
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return to
}
