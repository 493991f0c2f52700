package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/config"
)

// FuzzLoad checks that no file makes Load panic, that it gives either a sound configuration or problems with
// places inside the file, and that no problem shows the value of a variable.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/problems/*.yaml")
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
	f.Add([]byte("version: 1\nservers: {a: {url: \"http://${S}/${S}\", headers: {A: \"${S}\", B: \"${T}\"}}}\n"))
	const secret = "s3cr\nt \x00 ://%zz"
	vars := lookup(map[string]string{"S": secret, "T": "plain"})
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := config.Load("weir.yaml", src, config.Options{Dir: "/base", Lookup: vars})
		if err != nil {
			checkProblems(t, err.(config.Errors), strings.Count(string(src), "\n")+strings.Count(string(src), "\r")+2)
			if strings.Contains(err.Error(), "s3cr") && !strings.Contains(string(src), "s3cr") {
				t.Errorf("a problem shows a value:\n%v", err)
			}
			return
		}
		for _, s := range c.Servers {
			if (s.Command == "") == (s.URL == "") && !s.Disabled || s.Transport == "" {
				t.Errorf("server %q: unsound: %+v", s.Name, s)
			}
		}
		if c.Approval.Timeout <= 0 || c.Limits.Message <= 0 {
			t.Errorf("unsound: %+v", c)
		}
	})
}

func checkProblems(t *testing.T, problems config.Errors, lines int) {
	t.Helper()
	if len(problems) == 0 {
		t.Error("an error without problems")
	}
	for _, p := range problems {
		if p.Msg == "" || p.Line < 0 || p.Line > lines {
			t.Errorf("bad problem in a file of %d lines: %+v", lines, p)
		}
	}
}
