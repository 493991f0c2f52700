package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A result is a row of the results that docs/conformance.md publishes.
type result struct {
	name, kind, command string
	want                [4]string // passed, failed, warnings, not applicable
}

// published are the rows of both tables.
func published(t *testing.T) (all []result) {
	t.Helper()
	page, err := os.ReadFile("../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("^\\| (.+) \\| `(.+)` \\| ([a-z0-9]+) \\| ([a-z0-9]+) \\| ([a-z0-9]+) \\| ([a-z0-9 ]+) \\|$")
	kind := ""
	for line := range strings.Lines(string(page)) {
		m := row.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case m == nil:
		case m[3] == "passed":
			kind = m[1]
		case kind != "":
			all = append(all, result{m[1], kind, m[2], [4]string(m[3:7])})
		}
	}
	if len(all) < 12 {
		t.Fatalf("docs/conformance.md has %d results", len(all))
	}
	return all
}

// TestPeers runs the kit over programs of others: the published results are true, for the versions in the lock.
func TestPeers(t *testing.T) {
	needEnabled(t)
	programs := t.TempDir()
	server := everythingServer(t)
	if err := os.Rename(server, filepath.Join(programs, "everything-server")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(programs, "notes"), "../examples/server").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	locked, err := os.ReadFile(filepath.Join(world.scripts, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{
		programs, filepath.Dir(world.weir), filepath.Join(world.scripts, "node_modules", ".bin"), os.Getenv("PATH"),
	}, string(filepath.ListSeparator))
	for _, p := range published(t) {
		t.Run(p.name, func(t *testing.T) {
			name, version, _ := strings.Cut(strings.ReplaceAll(p.name, ",", ""), " ")
			if version, _, _ = strings.Cut(version, " "); numbered.MatchString(version) && !strings.Contains(string(locked), name+`": "`+version+`"`) {
				t.Errorf("e2e/node/package.json has no %s of version %s", name, version)
			}
			if strings.Contains(p.command, "linux_amd64") && runtime.GOOS+runtime.GOARCH != "linuxamd64" {
				t.Skip("the program is for Linux on amd64")
			}
			got := judge(t, p, path)
			if got != p.want {
				t.Errorf("passed, failed, warnings and not applicable are %v, published are %v", got, p.want)
			}
		})
	}
}

var numbered = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// judge runs the kit over a peer and counts the verdicts.
func judge(t *testing.T, p result, path string) (counts [4]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kit.txt"), []byte("kit"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := strings.ReplaceAll(p.command, "8724", freePort())
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec weir conformance "+p.kind+" --timeout 5s --json report.json "+command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"PATH="+path, "MODULES="+filepath.Join(world.scripts, "node_modules"), "HOME="+dir,
		"XDG_STATE_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_RUNTIME_DIR="+dir,
	)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, _ := cmd.CombinedOutput() // its status says whether a check failed
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var report struct {
		Checks []struct{ ID, Verdict string }
	}
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	n, failing := map[string]int{}, []string(nil)
	for _, c := range report.Checks {
		n[c.Verdict]++
		if c.Verdict == "failed" || c.Verdict == "warning" {
			failing = append(failing, c.ID)
		}
	}
	t.Logf("failed, or with a warning: %s", strings.Join(failing, " "))
	for i, v := range []string{"passed", "failed", "warning", "not applicable"} {
		counts[i] = strconv.Itoa(n[v])
	}
	return counts
}
