package importer_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/importer"
)

var update = flag.Bool("update", false, "write the golden files")

// TestFiles reads configurations as hosts write them and prints the result: servers, warnings, problems.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if filepath.Ext(file) == ".golden" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := describe(t, ".mcp"+filepath.Ext(file), src)
			if strings.Contains(got, "hunter2") {
				t.Error("a problem shows a value")
			}
			golden(t, strings.TrimSuffix(file, filepath.Ext(file))+".golden", got)
		})
	}
}

func describe(t *testing.T, name string, src []byte) string {
	vars := map[string]string{"TOKEN": "expanded"}
	c, err := importer.Load(name, src, config.Options{Dir: "/base", Lookup: func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}})
	if err != nil {
		var problems config.Errors
		if !errors.As(err, &problems) {
			t.Fatalf("got %v", err)
		}
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, s := range c.Servers {
		fmt.Fprintf(&b, "%s %s trust=%s disabled=%t\n", s.Name, s.Transport, s.Trust, s.Disabled)
		fmt.Fprintf(&b, "  command=%q args=%q env=%v cwd=%q\n  url=%q headers=%v\n", s.Command, s.Args, s.Env, s.Dir, s.URL, s.Headers)
	}
	for _, p := range c.Warnings {
		fmt.Fprintf(&b, "warning: %s\n  hint: %s\n", p, p.Hint)
	}
	return b.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		path, src string
		want      bool
	}{
		{"x", `{"mcpServers": {}}`, true},
		{"x", `{"version": "0.1.0", "mcpServers": {}}`, true},
		{"x", `{"servers": {}, "inputs": []}`, true},
		{"weir.yaml", `{"version": 1, "servers": {}}`, false},
		{"weir.json", `{"version": 1, "servers": {}}`, false},
		{"weir.yaml", "version: 1\nservers: {}\n", false},
		{".mcp.json", `{"mcpServers": {`, true},
		{"weir.yaml", `{"mcpServers": {`, false},
		{"config.toml", "[mcp_servers.a]\ncommand = 'a'\n", true},
		{"config.yaml", "extensions:\n  a: {cmd: a}\n", true},
		{"config.yaml", "mcpServers:\n- name: a\n  command: a\n", true},
		{"weir.yaml", "version: 1\nmcpServers: {}\n", false},
		{"opencode.json", `{"mcp": {"a": {"type": "local", "command": ["a"]}}}`, true},
		{"settings.json", "// hello\n{\"context_servers\": {},}", true},
	} {
		if got := importer.Detect(c.path, []byte(c.src)); got != c.want {
			t.Errorf("%s: %s: got %t", c.path, c.src, got)
		}
	}
}

// FuzzLoad checks that no file makes Load panic, and that it gives either sound servers or problems inside the
// file.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		importer.Detect("x", src)
		lines := strings.Count(string(src), "\n") + 1
		c, err := importer.Load("x", src, config.Options{Dir: "/base"})
		if err != nil {
			if len(err.(config.Errors)) == 0 {
				t.Error("an error without problems")
			}
			for _, p := range err.(config.Errors) {
				if p.Msg == "" || p.Line < 0 || p.Line > lines {
					t.Errorf("bad problem in a file of %d lines: %+v", lines, p)
				}
			}
			return
		}
		for _, s := range c.Servers {
			if (s.Command == "") == (s.URL == "") && !s.Disabled || s.Transport == "" || s.Trust != 0 {
				t.Errorf("server %q: unsound: %+v", s.Name, s)
			}
		}
	})
}
