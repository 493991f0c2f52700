package terminal

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// A console is the console of the process, whose input and output are two files.
type console struct{ in, out *os.File }

func openDevice() (device, error) {
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return console{in, out}, nil
}

func (c console) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c console) Write(p []byte) (int, error) { return c.out.Write(p) }
func (c console) Close() error                { return errors.Join(c.in.Close(), c.out.Close()) }
func (c console) drop() error                 { return windows.FlushConsoleInputBuffer(windows.Handle(c.in.Fd())) }
