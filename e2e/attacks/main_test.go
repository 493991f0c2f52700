package attacks

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var (
	enabled     = flag.Bool("e2e", false, "attack the built program")
	program     = flag.String("e2e.weir", "", "the weir program to attack; built from cmd/weir if empty")
	postgresBin = flag.String("e2e.postgres", "", "the directory of PostgreSQL's programs; without it nothing is tried on PostgreSQL")
)

// weir is the program under attack; TestMain sets it.
var weir string

func TestMain(m *testing.M) {
	if name := os.Getenv(scriptVariable); name != "" {
		if err := serveScript(name, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "scripted server: %v\n", err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if !*enabled {
		os.Exit(m.Run())
	}
	code, err := attack(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "attacks: %v\n", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// attack builds the program and runs the tests.
func attack(m *testing.M) (int, error) {
	scratch, err := os.MkdirTemp("", "weir-attacks-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(scratch)
	actors = filepath.Join(scratch, "actors")
	if out, err := exec.Command("go", "build", "-C", "testdata/actors", "-o", actors, ".").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building the servers that act: %w\n%s", err, out)
	}
	if *program != "" {
		weir, err = filepath.Abs(*program)
		if err != nil {
			return 1, err
		}
		return m.Run(), nil
	}
	weir = filepath.Join(scratch, "weir")
	if out, err := exec.Command("go", "build", "-o", weir, "../../cmd/weir").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building weir: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// needEnabled skips a test that needs the built program.
func needEnabled(t *testing.T) {
	t.Helper()
	if !*enabled {
		t.Skip("needs -e2e")
	}
}

// modules returns the folder of the npm packages that the lock file of e2e/node pins.
func modules(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../node/node_modules")
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		t.Fatalf("%v\nrun npm ci --prefix e2e/node", err)
	}
	return dir
}
