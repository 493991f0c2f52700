package e2e

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	enabled = flag.Bool("e2e", false, "run the tests against other people's servers and clients")
	program = flag.String("e2e.weir", "", "the weir program to test; built from cmd/weir if empty")
)

// world is the state that the tests share; TestMain fills it before any of them runs.
var world struct {
	weir    string // the program under test
	scripts string // e2e/node
	modules string // e2e/node/node_modules/@modelcontextprotocol
}

func TestMain(m *testing.M) {
	if log := os.Getenv(faultyLog); log != "" {
		if err := serveFaulty(log); err != nil {
			os.Exit(1)
		}
		return
	}
	if log := os.Getenv(countedLog); log != "" {
		if err := serveCounted(log); err != nil {
			os.Exit(1)
		}
		return
	}
	if file := os.Getenv(hostedClient); file != "" {
		if err := serveHosted(file); err != nil {
			fmt.Fprintf(os.Stderr, "e2e: %v\n", err)
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
		fmt.Fprintf(os.Stderr, "e2e: %v\n", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// runEnabled prepares the world, runs the tests and looks for processes that outlived them.
func runEnabled(m *testing.M) (code int, err error) {
	if world.scripts, err = filepath.Abs("node"); err != nil {
		return 1, err
	}
	world.modules = filepath.Join(world.scripts, "node_modules", "@modelcontextprotocol")
	if _, err := os.Stat(world.modules); err != nil {
		return 1, errors.New("the npm packages are missing: run npm ci --prefix e2e/node")
	}
	scratch, err := os.MkdirTemp("", "weir-e2e-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(scratch)
	if world.weir, err = build(scratch); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, leftovers(world.weir, world.scripts)
}

// build returns the absolute path of the program under test.
func build(dir string) (string, error) {
	if *program != "" {
		return filepath.Abs(*program)
	}
	path := filepath.Join(dir, "weir")
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "../cmd/weir")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building weir: %w\n%s", err, out)
	}
	return path, nil
}

// leftovers waits until no process has one of the paths on its command line any more, and names those that still
// have when the patience is over.
func leftovers(paths ...string) error {
	deadline := time.Now().Add(patience)
	for {
		alive := processes(paths...)
		if len(alive) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes left behind:\n\t%s", strings.Join(alive, "\n\t"))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// processes lists the command lines, other than this process's own, that mention one of the paths.
func processes(paths ...string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, file := range files {
		pid := filepath.Base(filepath.Dir(file))
		if pid == fmt.Sprint(os.Getpid()) {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		line := string(bytes.ReplaceAll(bytes.TrimRight(raw, "\x00"), []byte{0}, []byte{' '}))
		for _, path := range paths {
			if strings.Contains(line, path) {
				found = append(found, pid+" "+line)
				break
			}
		}
	}
	return found
}

// needEnabled skips a test that needs the world.
func needEnabled(t *testing.T) {
	t.Helper()
	if !*enabled {
		t.Skip("needs -e2e and the packages of e2e/node")
	}
}
