// Package lasting keeps the outcome of looks at names in the file system for as long as the names stand for the same.
//
//	var kept lasting.Kept[[]owned]
//	own := kept.Get(func() ([]owned, lasting.Names) { … })
//
// It promises: Get returns the outcome of a look after the last change of one of its names that returned before Get was
// called, whoever made it: a file that came, went, was renamed or replaced, in any folder on the way to the name, or a
// mount; and, where that is said to matter, of its mode and length. Contents and times do not matter.
//
// The system tells of them: of entries of folders by inotify(7), which queues an event before the call that changes
// returns; of mounts by mountinfo (proc_pid_mountinfo(5)), which counts them as early. So one question to the system
// takes the place of a look at each name. Only file systems of this machine count, whose changes all go through its
// kernel. Names elsewhere, names that cannot be watched, and those on other systems than Linux are looked at each time.
package lasting

import (
	"maps"
	"sync"
)

// Names are the absolute paths that a look depends on, and what matters of each. None leads through a link; one that is
// a link stands for the link.
type Names map[string]Aspect

// An Aspect is what matters of a name.
type Aspect uint8

const (
	// File is which file is there. A folder on the way to a name needs no mention.
	File Aspect = iota
	// Mode is which file is there, and its mode.
	Mode
	// Length is these, and the length of the file.
	Length
)

// A Kept is the outcome of a look. The zero Kept has none. It is safe for concurrent use.
type Kept[T any] struct {
	mu     sync.Mutex
	value  T
	holds  bool
	system *system // nil: not asked yet
	looks  int     // one after the other that were to be kept, and were not
}

const (
	// once is how many looks are made before the system is asked: a process that needs few does not ask.
	once = 2
	// most is how many looks, one after the other, may fail to be kept.
	most = 16
)

// Get returns the outcome of a look: of a new one, if none was kept or one of its names has changed. The look returns
// the names on which its outcome depends; nil if that is not to be kept. Several may look at the same time.
func (k *Kept[T]) Get(look func() (T, Names)) T {
	if value, ok := k.kept(); ok {
		return value
	}
	value, names := look()
	if names == nil {
		return value
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch k.looks++; {
	case k.looks > most:
		k.system, k.value = nil, *new(T)
	case k.looks > once:
		return k.hold(value, names, look)
	}
	return value
}

// kept returns the outcome that is kept, if one is that still counts.
func (k *Kept[T]) kept() (value T, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holds = k.holds && !k.system.changed()
	return k.value, k.holds
}

// hold watches the names that were looked at, looks again, and keeps that if nothing has happened meanwhile.
func (k *Kept[T]) hold(value T, names Names, look func() (T, Names)) T {
	k.holds = false
	if k.system == nil {
		s, err := newSystem()
		if err != nil {
			k.looks = most
			return value
		}
		k.system = s
	}
	k.system.changed() // earlier than the look to come
	if k.system.watch(names) != nil {
		return value
	}
	value, again := look()
	if again == nil || !maps.Equal(names, again) || k.system.changed() {
		return value
	}
	k.value, k.holds, k.looks = value, true, once
	return value
}
