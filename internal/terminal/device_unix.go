//go:build unix

package terminal

import "os"

// A tty is the terminal that controls the process.
type tty struct{ *os.File }

func openDevice() (device, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	return tty{f}, err
}
