package lasting

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A system tells of changes of names. It is not safe for concurrent use.
type system struct {
	poll, events, mounts *os.File // descriptors of epoll(7), inotify(7) and of the list of mounts

	folders map[int32]map[string]bool // the names that matter, by the watch of their folder; of a file none
	buffer  []byte
}

// local are the file systems on which nothing changes but by this machine's kernel, which tells of it (statfs(2)).
var local = map[uint32]string{0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x01021994: "tmpfs"}

const (
	// entries are the events of names in a folder.
	entries = syscall.IN_CREATE | syscall.IN_DELETE | syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO
	// itself are those after which the names of a folder cannot be told of any more.
	itself = syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF
	// room is that for events that are read at once, and rounds how often they are read: more than a queue holds.
	room, rounds = 32 << 10, 256
)

func newSystem() (*system, error) {
	s := &system{buffer: make([]byte, room)}
	for _, o := range []struct {
		to    **os.File
		event uint32
		open  func() (int, error)
	}{
		{&s.poll, 0, func() (int, error) { return syscall.EpollCreate1(syscall.EPOLL_CLOEXEC) }},
		{&s.events, syscall.EPOLLIN, func() (int, error) { return syscall.InotifyInit1(syscall.IN_CLOEXEC) }},
		{&s.mounts, syscall.EPOLLPRI, func() (int, error) {
			return syscall.Open("/proc/self/mountinfo", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		}},
	} {
		fd, err := o.open()
		if err != nil {
			return nil, err
		}
		*o.to = os.NewFile(uintptr(fd), "") // which closes it in the end; it blocks, so nobody else waits for it
		if o.event != 0 {
			event := syscall.EpollEvent{Events: o.event, Fd: int32(fd)}
			if err := syscall.EpollCtl(int(s.poll.Fd()), syscall.EPOLL_CTL_ADD, fd, &event); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// watch has the system tell of the names, and of the folders on the way to them, and of no others. A folder is watched
// before those that are in it: as long as nothing is told of its name, the watch is of the folder that has the name.
func (s *system) watch(names Names) error {
	folders := map[string]map[string]bool{}
	for name := range names {
		if !filepath.IsAbs(name) || filepath.Clean(name) != name {
			return fmt.Errorf("%q is no plain path", name)
		}
		for name != "/" {
			dir, base := filepath.Split(name)
			if name = filepath.Clean(dir); folders[name] == nil {
				folders[name] = map[string]bool{}
			}
			folders[name][base] = true
		}
	}
	before := s.folders
	s.folders = make(map[int32]map[string]bool, len(folders))
	defer s.giveUp(before)
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		if err := s.add(dir, entries|itself|syscall.IN_ONLYDIR, folders[dir]); err != nil {
			return err
		}
	}
	for name, matters := range names {
		if mask := [...]uint32{Mode: syscall.IN_ATTRIB, Length: syscall.IN_ATTRIB | syscall.IN_MODIFY}[matters]; mask != 0 {
			if err := s.add(name, mask|syscall.IN_MASK_ADD, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// add watches a file or folder, if it is there: of one that is not, its folder tells.
func (s *system) add(path string, mask uint32, names map[string]bool) error {
	var there syscall.Stat_t
	if syscall.Lstat(path, &there) == nil && there.Mode&syscall.S_IFMT == syscall.S_IFLNK {
		return fmt.Errorf("%s is a link", path)
	}
	wd, err := syscall.InotifyAddWatch(int(s.events.Fd()), path, mask|syscall.IN_DONT_FOLLOW)
	if err == syscall.ENOENT || err == syscall.ENOTDIR {
		return nil
	}
	if err != nil {
		return err
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil || local[uint32(fs.Type)] == "" {
		return fmt.Errorf("the file system of %s may change by itself: %w", path, err)
	}
	if s.folders[int32(wd)] == nil {
		s.folders[int32(wd)] = map[string]bool{}
	}
	maps.Copy(s.folders[int32(wd)], names) // a folder may have two paths, by a mount
	return nil
}

// giveUp ends earlier watches that are none of those of now.
func (s *system) giveUp(before map[int32]map[string]bool) {
	for wd := range before {
		if s.folders[wd] == nil {
			_, _ = syscall.InotifyRmWatch(int(s.events.Fd()), uint32(wd)) // which may have ended by itself
		}
	}
}

// changed reports whether a name has changed since the last call, or may have.
func (s *system) changed() (changed bool) {
	for range rounds {
		var ready [2]syscall.EpollEvent
		n, err := syscall.EpollWait(int(s.poll.Fd()), ready[:], 0)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return true
		case n == 0:
			return changed
		}
		for _, e := range ready[:n] {
			if e.Fd != int32(s.events.Fd()) || s.read() {
				changed = true
			}
		}
	}
	return true
}

// read reads events, of which there are some, and reports whether one is of a name.
func (s *system) read() (changed bool) {
	n, err := syscall.Read(int(s.events.Fd()), s.buffer)
	if err != nil {
		return true
	}
	for rest := s.buffer[:n]; len(rest) >= syscall.SizeofInotifyEvent; {
		wd, mask := int32(binary.NativeEndian.Uint32(rest)), binary.NativeEndian.Uint32(rest[4:])
		end := syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
		if end > len(rest) {
			return true
		}
		name, _, _ := bytes.Cut(rest[syscall.SizeofInotifyEvent:end], []byte{0})
		changed = changed || s.matters(wd, mask, string(name))
		rest = rest[end:]
	}
	return changed
}

// matters reports whether an event is of a name that is watched. Those of watches that were given up are not.
func (s *system) matters(wd int32, mask uint32, name string) bool {
	names := s.folders[wd]
	switch {
	case mask&syscall.IN_Q_OVERFLOW != 0:
		return true
	case names == nil:
		return false
	case mask&entries == 0 || !isASCII(name):
		return true
	}
	for n := range names {
		if strings.EqualFold(n, name) || !isASCII(n) { // in a folder without case it may be the same
			return true
		}
	}
	return false
}

func isASCII(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool { return r >= 0x80 }) < 0
}
