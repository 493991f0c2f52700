package demo_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/demo"
	"github.com/weir-mcp/weir/internal/demo/servers"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestMain lets the test binary be the program that a world starts as its servers, and an HTTP endpoint without tools.
func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) == 6 && os.Args[1] == "demo" && os.Args[2] == "server" && os.Args[4] == "--data":
		err = servers.Run(context.Background(), os.Args[3], servers.Options{Data: filepath.Clean(os.Args[5])})
	case len(os.Args) == 3 && os.Args[1] == "http":
		server := mcp.NewServer(&mcp.Implementation{Name: "empty", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{Name: "nothing", InputSchema: map[string]any{"type": "object"}}, nil)
		endpoint := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
		err = http.ListenAndServe(os.Args[2], endpoint)
	default:
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // the servers, which are children, need not linger after their work
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(t *testing.T, opts demo.Options) *demo.Report {
	t.Helper()
	opts.TempDir = t.TempDir()
	report, err := demo.Run(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(opts.TempDir); err != nil || len(left) > 0 {
		t.Errorf("worlds left behind: %v, %v", left, err)
	}
	return report
}

// legacy is a revision that the guard of the tests speaks.
const legacy = "2025-11-25"

// TestGuarded tells all scenarios twice and compares every line that a person and a machine get to see.
func TestGuarded(t *testing.T) {
	report := run(t, demo.Options{Guarded: guard(sensible), Protocol: legacy})
	want := demo.Totals{
		Attacks: 6, Succeeded: 6, Stopped: 6, Harmless: 19, HarmlessWithout: 19, HarmlessWith: 19, Asked: 8, Agreed: 4,
	}
	if diff := cmp.Diff(want, report.Totals); diff != "" || !report.OK {
		t.Errorf("OK: %v, totals (-want +got):\n%s", report.OK, diff)
	}
	var text, json bytes.Buffer
	if err := (&demo.Text{Out: &text}).Report(report); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteJSON(&json); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", text.Bytes())
	golden(t, "report.json", json.Bytes())
	for i, line := range strings.Split(text.String(), "\n") {
		if n := len([]rune(line)); n > 100 || strings.TrimRight(line, " ") != line {
			t.Errorf("line %d has %d columns or ends in a space: %q", i+1, n, line)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestProblems tells scenarios through guards that get something wrong.
func TestProblems(t *testing.T) {
	always := func(r ruling) func(string, map[string]any) ruling {
		return func(string, map[string]any) ruling { return r }
	}
	only := func(about string, r ruling) func(string, map[string]any) ruling {
		return func(tool string, _ map[string]any) ruling {
			if tool == about {
				return r
			}
			return allow
		}
	}
	for _, c := range []struct {
		name, scenario string
		guard          demo.Connect
		want           []string // problems with the guard
	}{
		{"an attack is not stopped", "poisoned", demo.Direct(), []string{"the attack was not stopped"}},
		{"nobody is asked", "salaries", demo.Direct(), []string{"send_email passed although nobody was asked"}},
		{"a malicious result is handed on", "malicious", demo.Direct(),
			[]string{"fetch passed although it should not", "the attack was not stopped"}},
		{"a question does not say what it is about", "salaries", guard(only("send_email", askVaguely)),
			[]string{"send_email did not pass: blocked: the user said no"}},
		{"reads are asked about", "drafts", guard(always(ask)), []string{
			"read_drafts did not pass: blocked: the user said no", "list_inbox did not pass: blocked: the user said no",
			"send_email did not pass: nothing from read_drafts to pass on",
		}},
		{"everything is blocked", "notes", guard(always(block)), []string{
			"list_files did not pass: blocked: credentials stay here",
			"read_file did not pass: blocked: credentials stay here",
			"write_file did not pass: nothing from read_file to pass on",
		}},
		{"a result is withheld after the call had its effect", "tickets",
			guard(only("execute", withhold)),
			[]string{
				"execute did not pass: blocked: the server reports malicious activity", "the attack was not stopped",
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := run(t, demo.Options{Guarded: c.guard, Protocol: legacy, Only: []string{c.scenario}})
			if diff := cmp.Diff(c.want, report.Stories[0].With.Problems); diff != "" || report.OK {
				t.Errorf("OK: %v, problems (-want +got):\n%s", report.OK, diff)
			}
			if problems := report.Stories[0].Without.Problems; len(problems) > 0 {
				t.Errorf("problems without a guard: %q", problems)
			}
		})
	}
}

// TestUnguarded needs nothing but the servers, in both eras of the protocol.
func TestUnguarded(t *testing.T) {
	for _, protocol := range []string{"2024-11-05", "2026-07-28"} {
		t.Run(protocol, func(t *testing.T) {
			report := run(t, demo.Options{Protocol: protocol, Only: []string{"drafts", "pixel"}})
			if !report.OK || report.Totals.Succeeded != 2 {
				t.Errorf("OK: %v, totals: %+v", report.OK, report.Totals)
			}
			for _, s := range report.Stories {
				if s.Without.Protocol != protocol || s.With != nil {
					t.Errorf("%s: spoke %s, with a guard: %v", s.ID, s.Without.Protocol, s.With != nil)
				}
			}
		})
	}
}

// TestCommand reaches one of the servers in the way in which a gateway is reached.
func TestCommand(t *testing.T) {
	files := demo.Command(os.Args[0], "demo", "server", "files", "--data", "{config}/../files")
	if report := run(t, demo.Options{Guarded: files, Only: []string{"notes"}}); !report.OK {
		t.Errorf("problems: %q", report.Stories[0].With.Problems)
	}
}

func TestHTTPCommand(t *testing.T) {
	endpoint := demo.HTTPCommand("/mcp", os.Args[0], "http", "{address}")
	report := run(t, demo.Options{Guarded: endpoint, Protocol: legacy, Only: []string{"salaries"}})
	want := []string{
		`read_file was not answered: no server has a tool "read_file"`,
		`read_file did not pass: no server has a tool "read_file"`,
		`send_email did not pass: nothing from read_file to pass on`,
	}
	if diff := cmp.Diff(want, report.Stories[0].With.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestObserve(t *testing.T) {
	var got []string
	run(t, demo.Options{
		Only:    []string{"salaries", "notes"},
		Observe: func(n int, s *demo.Story) { got = append(got, fmt.Sprint(n, " ", s.ID)) },
	})
	if want := []string{"1 notes", "2 salaries"}; !slices.Equal(got, want) {
		t.Errorf("observed %q, want %q", got, want)
	}
}

func TestRunErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		opts demo.Options
		want string
	}{
		{"unknown scenario", demo.Options{Only: []string{"absent"}}, `unknown scenario "absent"`},
		{"no such program", demo.Options{Exe: "/nonexistent/weir"}, "no such file"},
		{"a gateway that ends at once", demo.Options{Guarded: demo.Command(os.Args[0], "-help"), Only: []string{"notes"}},
			"with a guard: connecting"},
		{"a gateway that never listens",
			demo.Options{Guarded: demo.HTTPCommand("/mcp", os.Args[0], "-help"), Only: []string{"notes"}},
			"ended before it listened"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opts.TempDir = t.TempDir()
			_, err := demo.Run(t.Context(), c.opts)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that holds %q", err, c.want)
			}
		})
	}
}
