package notify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/bounded"
)

// A Desktop shows notifications to the user at this machine, where there is a program for that: notify-send on a Linux
// session bus, osascript on macOS. They are few words of Weir's own, with names in which only letters, digits and a few
// signs are left; a program gets them as arguments, and no shell is involved.
type Desktop struct {
	System  string   // runtime.GOOS
	Environ []string // of the program, "NAME=value"; also says whether there is a session bus

	// Run runs a program; nil: as a process. It is for tests.
	Run func(ctx context.Context, environ, command []string) error
}

// Bounds of the desktop: a person is called a few times in a minute, and looks at all that waits.
const (
	maxShown   = 6
	showWindow = time.Minute
	showTime   = 5 * time.Second // for the program
)

var errOften = errors.New("too many notifications in a minute")

// Available returns why no notification can be shown; nil if one can.
func (d *Desktop) Available() error {
	_, err := d.command("", "")
	return err
}

// command returns the program that shows a notification, with its arguments.
func (d *Desktop) command(title, text string) ([]string, error) {
	var name string
	var args []string
	switch d.System {
	case "linux":
		if !d.hasBus() {
			return nil, errors.New("there is no session bus")
		}
		name, args = "notify-send", []string{"--app-name=Weir", "--urgency=critical", "--", title, text}
	case "darwin":
		name = "osascript"
		for _, line := range []string{"on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"} {
			args = append(args, "-e", line)
		}
		args = append(args, title, text)
	default:
		return nil, fmt.Errorf("notifications are not shown on %s", d.System)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%s is not installed", name)
	}
	return append([]string{path}, args...), nil
}

// hasBus reports whether the environment names a session bus, or there is one at the usual place (sd_bus_default_user).
func (d *Desktop) hasBus() bool {
	if d.getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := d.getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		return false
	}
	info, err := os.Stat(filepath.Join(dir, "bus"))
	return err == nil && info.Mode()&os.ModeSocket != 0
}

func (d *Desktop) getenv(name string) (value string) {
	for _, v := range d.Environ {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest // the last one counts, as in package os/exec
		}
	}
	return value
}

// A desk is a desktop in use.
type desk struct {
	Desktop

	mu    sync.Mutex
	shown bounded.Window
}

// show shows a notification, unless there were many just now.
func (d *desk) show(ctx context.Context, title, text string) error {
	if !d.next(time.Now()) {
		return errOften
	}
	command, err := d.command(title, text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	run := d.Run
	if run == nil {
		run = runProgram
	}
	return run(ctx, d.Environ, command)
}

// next reports whether one more may be shown now.
func (d *desk) next(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown.Length = showWindow
	return d.shown.Add(now) <= maxShown
}

func runProgram(ctx context.Context, environ, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = environ
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(command[0]), err)
	}
	return nil
}
