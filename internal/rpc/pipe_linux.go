package rpc

import "syscall"

// pipeSize is the room that pipes get, in bytes. Pipes of more than 64 MiB together are refused to a user.
const pipeSize = 256 << 10

// Commands of fcntl(2).
const (
	setPipeSize = 1031
	getPipeSize = 1032
)

// widen gives a pipe room for a large message: each piece of it changes the process that runs. All but pipes it leaves
// as they are, and those for which the system has no room.
func widen(end any) {
	f, ok := end.(syscall.Conn)
	if !ok {
		return
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		size, _, failed := syscall.Syscall(syscall.SYS_FCNTL, fd, getPipeSize, 0)
		if failed == 0 && size < pipeSize {
			_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeSize)
		}
	})
}
