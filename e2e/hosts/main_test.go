//go:build unix

package hosts

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	enabled = flag.Bool("e2e", false, "run the tests with hosts")
	program = flag.String("e2e.weir", "", "the weir program to test; built from cmd/weir if empty")
)

// world is what the tests share; TestMain fills it before any of them runs.
var world struct {
	weir    string // the program under test
	modules string // npm/node_modules
}

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == serve {
		if err := serveWeb(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if !*enabled {
		os.Exit(m.Run())
	}
	code, err := runEnabled(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "hosts: %v\n", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// runEnabled prepares the world, runs the tests and looks for processes that outlived them.
func runEnabled(m *testing.M) (code int, err error) {
	if world.modules, err = filepath.Abs(filepath.Join("npm", "node_modules")); err != nil {
		return 1, err
	}
	if _, err := os.Stat(world.modules); err != nil {
		return 1, errors.New("the npm packages are missing: run npm install --no-save --ignore-scripts --prefix e2e/hosts/npm")
	}
	scratch, err := os.MkdirTemp("", "weir-hosts-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(scratch)
	if world.weir, err = build(scratch); err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	code = m.Run()
	return code, leftovers(world.weir, world.modules, self)
}

// build returns the absolute path of the program under test.
func build(dir string) (string, error) {
	if *program != "" {
		return filepath.Abs(*program)
	}
	path := filepath.Join(dir, "weir")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/weir").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building weir: %w\n%s", err, out)
	}
	return path, nil
}

// leftovers waits until no process runs a program or script below one of the paths, and names those that still do when the patience is
// over.
func leftovers(paths ...string) error {
	deadline := time.Now().Add(patience)
	for {
		var alive []string
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			raw, err := os.ReadFile(file)
			args := strings.Split(string(raw), "\x00")
			own := file == fmt.Sprintf("/proc/%d/cmdline", os.Getpid())
			if err == nil && !own && slices.ContainsFunc(args[:min(2, len(args))], func(arg string) bool {
				return slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(arg, p) })
			}) {
				alive = append(alive, strings.Join(args, " "))
			}
		}
		switch {
		case len(alive) == 0:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("processes left behind:\n\t%s", strings.Join(alive, "\n\t"))
		}
		time.Sleep(100 * time.Millisecond)
	}
}
