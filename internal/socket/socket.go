// Package socket is how processes of one user reach each other: unix sockets in directories that only the user may
// enter.
//
//	err := socket.Private(dir)
//	listener, err := socket.Listen(dir, "name")
//	conn, err := socket.Dial(ctx, dir, "name")
//
// A socket gets its name once somebody listens on it: one that refuses connections belonged to a process that is no
// more. Systems limit the length of a socket's path; on Linux a directory of any depth will do.
package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// ErrLong says that this system takes no path as long as the socket's.
var ErrLong = errors.New("the path of the socket is too long: set XDG_STATE_HOME to a shorter place")

const (
	early   = ".new" // ends the name of a socket that nobody listens on yet
	longest = 100    // bytes of a path: systems take 104 to 108
)

// Private makes a directory, or makes sure that nobody but its owner may enter it.
func Private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	case info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/':
		return fmt.Errorf("others may enter %s: run chmod 700 on it", dir)
	}
	return nil
}

// Listen listens on the socket with a name in a directory, in place of a socket that was there. To close the listener
// does not remove the socket.
func Listen(dir, name string) (*net.UnixListener, error) {
	path := filepath.Join(dir, name)
	if err := os.Remove(path + early); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	short, done, err := address(dir, name+early)
	if err != nil {
		return nil, err
	}
	defer done()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(path+early, 0o600), os.Rename(path+early, path)); err != nil {
		return nil, errors.Join(err, listener.Close(), os.Remove(path+early))
	}
	return listener, nil
}

// Dial connects to the socket with a name in a directory.
func Dial(ctx context.Context, dir, name string) (*net.UnixConn, error) {
	short, done, err := address(dir, name)
	if err != nil {
		return nil, err
	}
	defer done()
	var dialer net.Dialer
	return dialer.DialUnix(ctx, "unix", nil, &net.UnixAddr{Name: short, Net: "unix"})
}

// address returns a name by which a socket can be reached until done is called.
func address(dir, name string) (short string, done func(), err error) {
	path := filepath.Join(dir, name)
	if len(path) <= longest {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("%w: %s has more than %d bytes", ErrLong, path, longest)
	}
	open, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", open.Fd(), name), func() { _ = open.Close() }, nil
}
