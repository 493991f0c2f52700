//go:build unix

package sqlstore

import "syscall"

// writable asks whether the process may write a file, as it is mounted now.
func writable(path string) error {
	const write = 2 // W_OK
	return syscall.Access(path, write)
}
