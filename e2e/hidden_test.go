package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestHiddenFile has an agent use a file of another implementation's server that it is not shown: that server wraps its text as structured
// content, the file holds JSON with a secret, and a look at a number of it is no secret of another server where it is written back.
func TestHiddenFile(t *testing.T) {
	needEnabled(t)
	dir := files(t)
	server := reference("filesystem", dir)
	described := writeFile(t, "overlays.yaml", `version: 1
overlays:
  - name: files
    title: Files with secrets
    match: [{server: files}]
    tools:
      read_text_file: {contract: {readOnly: true, openWorld: false, returns: [credentials], sources: [internal]}}
`)
	config := writeFile(t, "weir.yaml", fmt.Sprintf(`version: 1
overlays: [%s]
servers:
  files:
    command: %s
    args: [%s, %s]
    trust: known
    results: {read_text_file: hide}
`, described, server.Command, server.Args[0], server.Args[1]))
	secret := `{"n":7,"key":"northwind-traders-of-acme"}`
	if err := os.WriteFile(filepath.Join(dir, "secret.json"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	to := run(t, config)
	cmd := exec.Command(to.Command, to.Args...)
	cmd.Env = os.Environ()
	for k, v := range to.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	use := func(tool string, arguments object) *mcp.CallToolResult {
		t.Helper()
		got, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	hidden := use("read_text_file", object{"path": filepath.Join(dir, "secret.json")})
	name, _ := hidden.Meta["dev.weir/value"].(string)
	if text, _ := json.Marshal(hidden); name == "" || strings.Contains(string(text), "northwind") {
		t.Fatalf("not hidden: %s", text)
	}
	for _, path := range []string{"/n", "/content/n"} {
		got := use("weir_look", object{"value": name, "path": path, "as": "integer", "min": 0, "max": 100})
		if text, _ := json.Marshal(got.StructuredContent); got.IsError || string(text) != `{"answer":7}` {
			t.Errorf("%s: %s", path, text)
		}
	}
	copied := filepath.Join(dir, "copy.json")
	if got := use("write_file", object{"path": copied, "content": "[[" + name + "#/key]]"}); got.IsError {
		text, _ := json.Marshal(got)
		t.Errorf("not written back: %s", text)
	}
	if got := content(t, copied); got != "northwind-traders-of-acme" {
		t.Errorf("the file holds %q", got)
	}
}
