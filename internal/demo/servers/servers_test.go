package servers_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/internal/demo/servers"
)

// TestMain lets the test binary be a server process.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "serve" {
		if err := servers.Run(context.Background(), os.Args[2], servers.Options{Data: os.Args[3]}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // the servers, which are children, need not linger after their work
	os.Exit(m.Run())
}

// A process is a server with which the test speaks in raw messages, so that nothing of them is lost in types.
type process struct {
	t   *testing.T
	in  *json.Encoder
	out *bufio.Reader
	id  int
}

func start(t *testing.T, name, dir string) *process {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), os.Args[0], "serve", name, dir)
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, in: json.NewEncoder(stdin), out: bufio.NewReader(stdout)}
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("server %s ended with %v after its client left", name, err)
		}
	})
	return p
}

// request returns the raw result.
func (p *process) request(method string, params map[string]any) json.RawMessage {
	p.t.Helper()
	p.id++
	if params == nil {
		params = make(map[string]any)
	}
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
	err := p.in.Encode(map[string]any{"jsonrpc": "2.0", "id": p.id, "method": method, "params": params})
	if err != nil {
		p.t.Fatal(err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	var answer struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(line, &answer); err != nil || answer.Error != nil {
		p.t.Fatalf("%s: %v, %s", method, err, line)
	}
	return answer.Result
}

// A result is what a call gives, with its annotations as they were written.
type result struct {
	Text    string
	IsError bool
	Notes   string // _meta.annotations, "" if there are none
}

// call calls a tool and checks that the result claims nothing outside of its contract.
func (p *process) call(tool string, arguments map[string]any) result {
	p.t.Helper()
	raw := p.request("tools/call", map[string]any{"name": tool, "arguments": arguments})
	var in struct {
		Content []struct{ Text string }
		IsError bool
		Meta    struct{ Annotations json.RawMessage } `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		p.t.Fatal(err)
	}
	claim, defects := annotation.ReadResult(raw)
	if violations := servers.Contracts()[tool].Bounds(claim.Stated); len(defects)+len(violations) > 0 {
		p.t.Errorf("%s: defects %v, violations %v", tool, defects, violations)
	}
	return result{in.Content[0].Text, in.IsError, string(in.Meta.Annotations)}
}

type args = map[string]any

// A step is one call of a test's table.
type step struct {
	tool      string
	arguments args
	want      result
}

func (p *process) run(steps []step) {
	p.t.Helper()
	for _, s := range steps {
		if diff := cmp.Diff(s.want, p.call(s.tool, s.arguments)); diff != "" {
			p.t.Errorf("%s %v (-want +got):\n%s", s.tool, s.arguments, diff)
		}
	}
}

const system = `{"openWorldHint":false,"returnMetadata":{"source":"system","sensitivity":"none"}}`

// furnish returns a directory with the given files.
func furnish(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestContracts reads the contracts back from what each server really writes.
func TestContracts(t *testing.T) {
	all := servers.Contracts()
	for _, name := range servers.Names() {
		dir := furnish(t, map[string]string{servers.HostsFile: "{}", servers.ReportedFile: ""})
		var list struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(start(t, name, dir).request("tools/list", nil), &list); err != nil {
			t.Fatal(err)
		}
		for _, raw := range list.Tools {
			var tool struct{ Name string }
			if err := json.Unmarshal(raw, &tool); err != nil {
				t.Fatal(err)
			}
			got, defects := annotation.ReadTool(raw)
			if want, ok := all[tool.Name]; !ok || !got.Equal(want) || len(defects) > 0 {
				t.Errorf("%s declares %+v, want %+v; defects %v", tool.Name, got, want, defects)
			}
			delete(all, tool.Name)
		}
	}
	if len(all) > 0 {
		t.Errorf("contracts of tools that no server has: %v", all)
	}
}

// The proposal's own tools are listed as it has them, member for member.
func TestToolsOfTheProposal(t *testing.T) {
	var list struct{ Tools []map[string]any }
	if err := json.Unmarshal(start(t, "mail", furnish(t, nil)).request("tools/list", nil), &list); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, tool := range list.Tools {
		raw, err := os.ReadFile(filepath.Join("..", "..", "..", "annotation", "testdata", "sep-1913", fmt.Sprint(tool["name"], ".json")))
		if err != nil {
			continue // one of our own
		}
		var want map[string]any
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tool); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tool["name"], diff)
		}
		found++
	}
	if found != 3 {
		t.Errorf("%d of the three are listed", found)
	}
}

func TestFiles(t *testing.T) {
	dir := furnish(t, map[string]string{"notes.md": "# Notes", "salaries.csv": "Ada,96000", ".env": "TOKEN=x"})
	about := func(name, source, sensitivity string) string {
		return fmt.Sprintf(`{"openWorldHint":false,"attribution":["mcp://files.demo.example/%s"],`+
			`"returnMetadata":{"source":"%s","sensitivity":"%s"}}`, name, source, sensitivity)
	}
	start(t, "files", dir).run([]step{
		{"list_files", args{}, result{".env\nnotes.md\nsalaries.csv", false, about(".", "user", "none")}},
		{"read_file", args{"path": "notes.md"}, result{"# Notes", false, about("notes.md", "user", "none")}},
		{"read_file", args{"path": "salaries.csv"}, result{"Ada,96000", false, about("salaries.csv", "internal", "financial")}},
		{"read_file", args{"path": "./.env"}, result{"TOKEN=x", false, about(".env", "user", "credentials")}},
		{"read_file", args{"path": "../secret"}, result{"../secret: path escapes from parent", true, ""}},
		{"read_file", args{"path": "absent"}, result{"absent: no such file or directory", true, ""}},
		{"write_file", args{"path": "new.md", "text": "new"}, result{"wrote new.md (3 bytes)", false, system}},
		{"write_file", args{"path": "notes.md", "text": "x"}, result{"notes.md: file exists", true, ""}},
		{"read_file", args{"path": "new.md"}, result{"new", false, about("new.md", "user", "none")}},
		{"delete_file", args{"path": "notes.md"}, result{"deleted notes.md", false, system}},
		{"delete_file", args{"path": "notes.md"}, result{"notes.md: no such file or directory", true, ""}},
	})
}

func TestMail(t *testing.T) {
	dir := furnish(t, map[string]string{
		"drafts.json": `[{"id":"d1","to":"b@x.example","subject":"Hi","body":"Draft."}]`,
		"inbox.json":  `[{"id":"m1","from":"a@x.example","subject":"1","body":"One."},{"id":"m2","subject":"2","body":"<!-- x -->"}]`,
	})
	const drafts = `{"openWorldHint":false,"attribution":["mcp://mail.demo.example/drafts"],` +
		`"returnMetadata":{"source":"user","sensitivity":"pii"}}`
	const inbox = `{"openWorldHint":true,"attribution":["mcp://mail.demo.example/inbox"],` +
		`"returnMetadata":{"source":"untrustedPublic","sensitivity":["pii","user"]}}`
	first, second := "Id: m1\nFrom: a@x.example\nSubject: 1\n\nOne.\n", "Id: m2\nSubject: 2\n\n<!-- x -->\n"
	start(t, "mail", dir).run([]step{
		{"read_drafts", args{}, result{"Id: d1\nTo: b@x.example\nSubject: Hi\n\nDraft.\n", false, drafts}},
		{"list_inbox", args{}, result{first + "\n----\n" + second, false, inbox}},
		{"list_inbox", args{"limit": 1}, result{first, false, inbox}},
		{"read_message", args{"id": "m2"}, result{second, false, inbox}},
		{"read_message", args{"id": "m3"}, result{`no message "m3"`, true, ""}},
		{"send_email", args{"to": "c@x.example", "subject": "S", "body": "A\nB"}, result{"sent to c@x.example", false, system}},
	})
	sent, err := servers.ReadOutbox(dir)
	if diff := cmp.Diff([]servers.Message{{To: "c@x.example", Subject: "S", Body: "A\nB"}}, sent); diff != "" || err != nil {
		t.Errorf("outbox: %v (-want +got):\n%s", err, diff)
	}
}

func TestWeb(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/absent" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, "%s %s", r.Host, r.URL)
	}))
	defer site.Close()
	address := strings.TrimPrefix(site.URL, "http://")
	dir := furnish(t, map[string]string{
		servers.HostsFile:    fmt.Sprintf(`{"a.example": %q, "bad.example": %q}`, address, address),
		servers.ReportedFile: "http://bad.example/\n",
	})
	start(t, "web", dir).run([]step{
		{"fetch", args{"url": "http://a.example/page?q=1"}, result{"a.example /page?q=1", false,
			`{"openWorldHint":true,"attribution":["http://a.example/page?q=1"],` +
				`"returnMetadata":{"source":"untrustedPublic","sensitivity":"none"}}`}},
		{"fetch", args{"url": "http://bad.example/"}, result{"bad.example /", false,
			`{"openWorldHint":true,"maliciousActivityHint":true,"attribution":["http://bad.example/"],` +
				`"returnMetadata":{"source":"untrustedPublic","sensitivity":"none"}}`}},
		{"fetch", args{"url": "http://a.example/absent"}, result{`fetching "http://a.example/absent": 404 Not Found`, true, ""}},
		{"fetch", args{"url": "http://elsewhere.example/"},
			result{`Get "http://elsewhere.example/": no such host "elsewhere.example"`, true, ""}},
		{"fetch", args{"url": "https://a.example/"}, result{`fetching "https://a.example/": only http is understood`, true, ""}},
	})
}

func TestWebStaysOnTheMachine(t *testing.T) {
	dir := furnish(t, map[string]string{servers.HostsFile: `{"a.example": "192.0.2.1:80"}`, servers.ReportedFile: ""})
	err := servers.Run(t.Context(), "web", servers.Options{Data: dir})
	if err == nil || !strings.Contains(err.Error(), "not a loopback address") {
		t.Errorf("error %v, want a refusal of the address", err)
	}
}

func TestDatabase(t *testing.T) {
	dir := furnish(t, map[string]string{"tickets.csv": "id,status,text\n1,open,\"it's \"\"odd\"\"\"\n2,open,two\n"})
	const rows = `{"openWorldHint":true,"attribution":["mcp://database.demo.example/tickets"],` +
		`"returnMetadata":{"source":"internal","sensitivity":"pii"}}`
	st := func(s string) args { return args{"statement": s} }
	one, two := "id: 1\nstatus: open\ntext: it's \"odd\"\n", "id: 2\nstatus: open\ntext: two\n"
	start(t, "database", dir).run([]step{
		{"query", st("SELECT * FROM tickets"), result{one + "\n" + two, false, rows}},
		{"query", st("select * from tickets where text = 'it''s \"odd\"';"), result{one, false, rows}},
		{"query", st("SELECT * FROM tickets WHERE id='9'"), result{"", false, rows}},
		{"query", st("DELETE FROM tickets"), result{"query only reads: use execute for UPDATE and DELETE", true, ""}},
		{"execute", st("SELECT * FROM tickets"), result{"execute only changes: use query for SELECT", true, ""}},
		{"execute", st("UPDATE tickets SET status = 'closed' WHERE id = '2'"), result{"1 rows changed", false, system}},
		{"execute", st("UPDATE tickets SET colour = 'red'"), result{`no column "colour"`, true, ""}},
		{"execute", st("DELETE FROM tickets WHERE id = '1'"), result{"1 rows changed", false, system}},
		{"query", st("SELECT * FROM absent"), result{`no table "absent"`, true, ""}},
		{"query", st("SELECT * FROM ../tickets"), result{"../tickets.csv: path escapes from parent", true, ""}},
		{"query", st("SELECT * FROM tickets WHERE colour = 'red'"), result{`no column "colour"`, true, ""}},
	})
	got, err := servers.ReadTable(dir, "tickets")
	want := servers.Table{Columns: []string{"id", "status", "text"}, Rows: [][]string{{"2", "closed", "two"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("table: %v (-want +got):\n%s", err, diff)
	}
}

func TestStatements(t *testing.T) {
	p := start(t, "database", furnish(t, map[string]string{"t.csv": "a\n1\n"}))
	for _, c := range []struct{ statement, want string }{
		{"", `statement "": want SELECT, UPDATE or DELETE`},
		{"DROP TABLE t", `statement "DROP TABLE t": want SELECT, UPDATE or DELETE`},
		{"SELECT a FROM t", `statement "SELECT a FROM t": want *, not "a"`},
		{"SELECT * FROM", `statement "SELECT * FROM": unexpected end`},
		{"SELECT * FROM t WHERE a = 1", `statement "SELECT * FROM t WHERE a = 1": want a value in single quotes after =`},
		{"SELECT * FROM t WHERE a = '1' OR a = '2'", `statement "SELECT * FROM t WHERE a = '1' OR a = '2'": unexpected "OR"`},
		{"SELECT * FROM t WHERE a = '1", `statement "SELECT * FROM t WHERE a = '1": a value has no closing quote`},
	} {
		if got := p.call("query", args{"statement": c.statement}); got.Text != c.want || !got.IsError {
			t.Errorf("%q: got %+v, want the error %q", c.statement, got, c.want)
		}
	}
}

func TestRunErrors(t *testing.T) {
	if err := servers.Run(t.Context(), "absent", servers.Options{}); err == nil {
		t.Error("an unknown server was served")
	}
	for _, name := range servers.Names() {
		dir := filepath.Join(t.TempDir(), "absent")
		if err := servers.Run(t.Context(), name, servers.Options{Data: dir}); err == nil {
			t.Errorf("server %s was served on a directory that does not exist", name)
		}
	}
}
