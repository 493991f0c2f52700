package sqlstore

import (
	"syscall"
	"time"
)

// userTimeout bounds how long sent data of a connection may stay unacknowledged (tcp(7), TCP_USER_TIMEOUT).
func userTimeout(limit time.Duration) func(network, address string, c syscall.RawConn) error {
	const tcpUserTimeout = 18
	return func(network, _ string, c syscall.RawConn) error {
		if len(network) < 3 || network[:3] != "tcp" || limit <= 0 {
			return nil
		}
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(limit.Milliseconds()))
		})
		if err != nil {
			return err
		}
		return failed
	}
}

// readOnlyMount reports whether nobody can write to a file since it is mounted so.
func readOnlyMount(path string) bool {
	const readOnly = 1 // ST_RDONLY
	var s syscall.Statfs_t
	return syscall.Statfs(path, &s) == nil && s.Flags&readOnly != 0
}
