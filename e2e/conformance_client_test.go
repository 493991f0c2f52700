package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// differingClients are the client scenarios of the official suite that end differently through Weir, and why. In none may a
// check fail that passes directly, or that directly is not made.
var differingClients = map[string]string{
	"auth/client-credentials-basic": "Weir lets itself in, which the client cannot: a failure less",
	"auth/enterprise-managed-authorization": "neither can do it; Weir has looked up the metadata before it finds out, " +
		"which is one check more",
	"auth/offline-access-scope": "Weir keeps refresh tokens and asks for them, the client does neither: one check more",
}

// verdicts are the checks of each scenario: the worst that each ended in. How often a check was made is left out, since
// a client behind Weir begins again after each login.
type verdicts map[string]map[string]string

// TestConformanceClient runs the client scenarios of the official suite against the Go SDK's client for it, directly and with
// Weir between the two, over streamable HTTP on both sides, and compares check by check.
func TestConformanceClient(t *testing.T) {
	needEnabled(t)
	client := everythingClient(t)
	direct := conformClient(t, client)
	if len(direct) < 40 {
		t.Fatalf("the suite ran %d scenarios", len(direct))
	}
	role, err := json.Marshal(hosted{Weir: world.weir, Client: client, Policy: openPolicy(t)})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(hostedClient, writeFile(t, "hosted.json", string(role)))
	through := conformClient(t, self)
	for _, name := range slices.Sorted(maps.Keys(direct)) {
		same := maps.Equal(direct[name], through[name])
		switch reason := differingClients[name]; {
		case !same && reason == "":
			t.Errorf("%s: directly %v, through Weir %v", name, direct[name], through[name])
		case newFailure(direct[name], through[name]) != "":
			t.Errorf("%s: %s fails through Weir only", name, newFailure(direct[name], through[name]))
		case same && reason != "":
			t.Errorf("%s: ends the same, though it is listed as different", name)
		}
	}
	if len(through) != len(direct) {
		t.Errorf("%d scenarios directly, %d through Weir", len(direct), len(through))
	}
}

// newFailure returns a check that fails through Weir and not directly; "" if there is none.
func newFailure(direct, through map[string]string) string {
	for id, verdict := range through {
		if verdict == "FAILURE" && direct[id] != "FAILURE" {
			return id
		}
	}
	return ""
}

// everythingClient builds the Go SDK's client for the suite.
func everythingClient(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "everything-client")
	const pkg = "github.com/modelcontextprotocol/go-sdk/conformance/everything-client"
	if out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
		t.Fatalf("building the client: %v\n%s", err, out)
	}
	return path
}

// clientsAtOnce bounds how many scenarios run at the same time: all at once, as the suite would, ask too much of a small machine.
const clientsAtOnce = 4

// listedScenario is a line of the suite's list.
var listedScenario = regexp.MustCompile(`(?m)^  - (\S+) \[`)

// conformClient runs the client scenarios against a command.
func conformClient(t *testing.T, command string) verdicts {
	t.Helper()
	dir := t.TempDir()
	_, text, _ := strings.Cut(suite(t, "list"), "\nClient scenarios")
	text, _, _ = strings.Cut(text, "\nAuthorization server scenarios")
	var running sync.WaitGroup
	free := make(chan struct{}, clientsAtOnce)
	for _, name := range listedScenario.FindAllStringSubmatch(text, -1) {
		running.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			suite(t, "client", "--command", command, "--scenario", name[1], "--timeout", "120000", "-o", dir)
		})
	}
	running.Wait()
	dated := regexp.MustCompile(`-\d{4}-\d{2}-\d{2}T[^/]*$`)
	result := verdicts{}
	for _, pattern := range []string{"*", "*/*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern, "checks.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, err := filepath.Rel(dir, dated.ReplaceAllString(filepath.Dir(file), ""))
			if err != nil {
				t.Fatal(err)
			}
			result[name] = worst(t, file)
		}
	}
	return result
}

// worst returns the worst verdict of each check in a file of the suite. Informational checks are left out.
func worst(t *testing.T, file string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var checks []struct{ ID, Status string }
	if err := json.Unmarshal(data, &checks); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	order := []string{"SKIPPED", "SUCCESS", "WARNING", "FAILURE"}
	result := map[string]string{}
	for _, c := range checks {
		if rank := slices.Index(order, c.Status); rank >= 0 && rank >= slices.Index(order, result[c.ID]) {
			result[c.ID] = c.Status
		}
	}
	return result
}
