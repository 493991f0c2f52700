package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// A subject is a server under comparison: how to start it afresh, and requests whose answers repeat.
type subject struct {
	name         string
	modern       bool // speaks 2026-07-28 as well
	capabilities object
	start        func(t *testing.T) target
	steps        func(t *testing.T) []step
}

// files is where a filesystem server of this test may work. It is one directory for the whole test, since answers
// name it.
func files(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"notes.txt":      "milk\n\u00e9clairs \U0001F370\n",
		"sub/deep/a.txt": "a\n",
		"sub/b.json":     `{"n": 1.0}`,
		"dot.png":        "\x89PNG\r\n\x1a\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// subjects are the servers that every hop is tried with.
func subjects(t *testing.T) []subject {
	dir := files(t)
	return []subject{
		{
			name:  "filesystem",
			start: func(*testing.T) target { return reference("filesystem", dir) },
			steps: func(*testing.T) []step { return fileSteps(dir) },
		},
		{
			name: "memory",
			start: func(t *testing.T) target {
				server := reference("memory")
				server.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "graph.jsonl")}
				return server
			},
			steps: func(*testing.T) []step { return memorySteps() },
		},
		{
			name:         "everything",
			capabilities: object{"elicitation": object{}, "roots": object{}, "sampling": object{}},
			start:        func(*testing.T) target { return reference("everything") },
			steps:        func(*testing.T) []step { return everythingSteps() },
		},
		{
			name:   "library",
			modern: true,
			start:  func(*testing.T) target { return node(filepath.Join(world.scripts, "library.mjs")) },
			steps: func(*testing.T) []step {
				return []step{{Method: "tools/list"}, call("find", object{"title": "Emma"})}
			},
		},
	}
}

func fileSteps(dir string) []step {
	in := func(name string) string { return filepath.Join(dir, name) }
	return []step{
		{Method: "tools/list"},
		call("write_file", object{"path": in("written.txt"), "content": "line\r\nline\u2028\n"}),
		call("list_allowed_directories", object{}),
		call("list_directory", object{"path": dir}),
		call("directory_tree", object{"path": dir}),
		call("read_text_file", object{"path": in("notes.txt")}),
		call("read_text_file", object{"path": in("notes.txt"), "head": 1}),
		call("read_media_file", object{"path": in("dot.png")}),
		call("read_multiple_files", object{"paths": []string{in("sub/deep/a.txt"), in("missing.txt")}}),
		call("search_files", object{"path": dir, "pattern": "**/*.json"}),
		call("read_text_file", object{"path": in("written.txt")}),
		call("read_text_file", object{"path": in("missing.txt")}),
		call("read_text_file", object{"path": "/etc/hostname"}),
		call("read_text_file", object{"path": 7}),
	}
}

func memorySteps() []step {
	entity := func(name string, facts ...string) object {
		return object{"name": name, "entityType": "person", "observations": facts}
	}
	return []step{
		{Method: "tools/list"},
		{Method: "resources/list"},
		call("read_graph", object{}),
		call("create_entities", object{"entities": []object{entity("Ada", "counts"), entity("Émile")}}),
		call("create_relations", object{"relations": []object{{"from": "Ada", "to": "Émile", "relationType": "knows"}}}),
		call("search_nodes", object{"query": "counts"}),
		call("open_nodes", object{"names": []string{"Émile", "nobody"}}),
		call("delete_entities", object{"entityNames": []string{"Ada"}}),
		call("read_graph", object{}),
	}
}

func everythingSteps() []step {
	return []step{
		{Method: "tools/list"},
		call("echo", object{"message": "1 \u2028 \"quoted\" \\ \u00e9"}),
		call("echo", object{}),
		call("get-sum", object{"a": 0.1, "b": 1e21}),
		call("get-tiny-image", object{}),
		call("get-annotated-message", object{"messageType": "error", "includeImage": true}),
		call("get-structured-content", object{"location": "Chicago"}),
		call("get-resource-links", object{"count": 3}),
		{Method: "resources/list"},
		{Method: "resources/templates/list"},
		{Method: "resources/read", Params: object{"uri": "demo://resource/static/document/features.md"}},
		{Method: "resources/read", Params: object{"uri": "demo://resource/absent"}},
		{Method: "prompts/list"},
		{Method: "prompts/get", Params: object{"name": "simple-prompt"}},
		{Method: "prompts/get", Params: object{"name": "args-prompt", "arguments": object{"city": "Rome"}}},
		{Method: "completion/complete", Params: object{
			"ref":      object{"type": "ref/prompt", "name": "completable-prompt"},
			"argument": object{"name": "department", "value": "E"},
		}},
	}
}
