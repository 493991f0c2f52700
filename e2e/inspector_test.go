package e2e

import (
	"path/filepath"
	"testing"
)

// inspect runs the inspector's command line against a target and decodes the result it prints. The inspector takes one
// "--" away, so everything after the command goes behind one of ours.
func inspect(t *testing.T, to target, request ...string) message {
	t.Helper()
	var args []string
	if to.URL != "" {
		args = append([]string{to.URL, "--transport", "http"}, request...)
	} else {
		args = append([]string{to.Command}, request...)
		args = append(append(args, "--"), to.Args...)
	}
	// It looks for its own package.json beside the directory it runs in.
	dir := filepath.Join(world.modules, "inspector-cli", "build")
	out, _ := runTool(t, filepath.Join(dir, "index.js"), dir, nil, args...)
	var result object
	decode(t, out, &result)
	return message{Result: result}
}

// TestInspector compares the output of the inspector for a server directly, through `weir wrap`, and through `weir run`
// over HTTP.
func TestInspector(t *testing.T) {
	needEnabled(t)
	dir := files(t)
	tool := func(name string, args ...string) []string {
		return append([]string{"--method", "tools/call", "--tool-name", name, "--tool-arg"}, args...)
	}
	for _, c := range []struct {
		name     string
		server   target
		requests [][]string // each starts with --method and the method
	}{
		{"filesystem", reference("filesystem", dir), [][]string{
			{"--method", "tools/list"},
			tool("read_text_file", "path="+filepath.Join(dir, "notes.txt")),
			tool("directory_tree", "path="+dir),
		}},
		{"memory", reference("memory"), [][]string{
			{"--method", "tools/list"},
			tool("search_nodes", "query=nothing"),
		}},
		{"everything", reference("everything"), [][]string{
			{"--method", "tools/list"},
			tool("get-sum", "a=2", "b=3"),
			tool("get-structured-content", "location=Chicago"),
			{"--method", "resources/list"},
			{"--method", "resources/templates/list"},
			{"--method", "resources/read", "--uri", "demo://resource/static/document/features.md"},
			{"--method", "prompts/list"},
			{"--method", "prompts/get", "--prompt-name", "args-prompt", "--prompt-args", "city=Rome"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			policy := openPolicy(t)
			trusted := wrapped(t, c.server, "--trust", "trusted", "--policy", policy)
			over := listen(t, configure(t, map[string]target{c.name: c.server}), "--policy", policy)
			for _, request := range c.requests {
				method := request[1]
				direct := inspect(t, c.server, request...)
				licence{}.compare(t, method, direct, inspect(t, trusted, request...))
				licence{untrusted: true}.compare(t, method, direct, inspect(t, over, request...))
			}
		})
	}
}
