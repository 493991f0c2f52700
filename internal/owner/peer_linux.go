package owner

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// samePeer makes sure that the process at the other end runs as the same user.
func samePeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("finding out who is at the socket: %w", err)
	}
	if int(cred.Uid) != os.Getuid() {
		return fmt.Errorf("the process at the socket runs as uid %d, not %d", cred.Uid, os.Getuid())
	}
	return nil
}
