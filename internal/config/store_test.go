package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/config"
)

func TestStore(t *testing.T) {
	for _, tt := range []struct{ value, want, wrong string }{
		{"memory", config.MemoryStore, ""},
		{"state.db", filepath.Join("conf", "state.db"), ""},
		{"./memory", filepath.Join("conf", "memory"), ""},
		{"/var/lib/weir/state.db", "/var/lib/weir/state.db", ""},
		{"${HOME}/state.db", "/home/alice/state.db", ""},
		{"postgres://weir:${PASSWORD}@db/weir", "postgres://weir:hunter2@db/weir", ""},
		{"postgresql://db/weir", "postgresql://db/weir", ""},
		{"mysql://weir:hunter2@db/weir", "", "store: a database that is not known here"},
		{"postgres://weir:hunter2@db:x/weir", "", "store: not a URL"},
		{"${MISSING}/state.db", "", "store: "},
	} {
		got, err := config.Load("conf/weir.yaml", []byte("version: 1\nstore: "+tt.value+"\nservers: {a: {command: a}}"),
			config.Options{Lookup: lookup(map[string]string{"HOME": "/home/alice", "PASSWORD": "hunter2"})})
		switch {
		case tt.wrong == "" && err != nil:
			t.Errorf("%s: %v", tt.value, err)
		case tt.wrong == "" && got.Store != tt.want:
			t.Errorf("%s is %q, want %q", tt.value, got.Store, tt.want)
		case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong) || strings.Contains(err.Error(), "hunter2")):
			t.Errorf("%s: got error %v, want %q", tt.value, err, tt.wrong)
		}
	}
}
