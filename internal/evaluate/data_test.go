package evaluate_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/evaluate"
)

func TestLoad(t *testing.T) {
	for src, want := range map[string]string{
		``:               "reading suites",
		`[]`:             "reading suites",
		`{}`:             "there are none",
		`{"suites": {}}`: "there are none",
		`{"suites": {"a": {"user_tasks": {"t": {"calls": [{"tool": "x"}]}}}}}`:                               `suite a: task t: no server has the tool "x"`,
		`{"suites": {"a": {"servers": {"s": ["y"]}, "injection_tasks": {"t": {"calls": [{"tool": "x"}]}}}}}`: `suite a: injection t: no server has the tool "x"`,
	} {
		if _, err := evaluate.Load([]byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
	d, err := evaluate.Load([]byte(`{"suites": {"a": {"servers": {"s": ["x"]}, "user_tasks": {"t": {"calls": [{"tool": "x"}]}}}}}`))
	if err != nil || d.Mark != "<<PAYLOAD>>" {
		t.Errorf("%+v, %v", d, err)
	}
}

// FuzzLoad holds that no file makes the reader fail in another way than by an error.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"suites": {"a": {"tools": [{}], "servers": {"s": ["x"]}, "user_tasks": {"t": {"calls": [{"tool": "x", "args": {}}]}}}}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := evaluate.Load(src)
		if (d == nil) == (err == nil) {
			t.Errorf("%v, %v", d, err)
		}
	})
}
