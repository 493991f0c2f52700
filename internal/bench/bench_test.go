package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// TestMain lets the test binary play the roles, as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == roleArgument {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// TestBench measures for a moment, to see that every way works and is counted. What it takes is not looked at.
func TestBench(t *testing.T) {
	for _, cells := range []string{"stdio/1KiB/1", "http/1KiB/1"} {
		var out bytes.Buffer
		if err := bench(t.Context(), []string{"-quick", "-json", "-only", cells}, &out); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out.Bytes()) {
			t.Fatalf("%s: not JSON: %s", cells, out.Bytes())
		}
		for _, way := range []string{"direct", "relay", "weir-off", "weir-on"} {
			if !bytes.Contains(out.Bytes(), []byte(`"`+way+`"`)) {
				t.Errorf("%s: nothing was measured of %s: %s", cells, way, out.Bytes())
			}
		}
	}
}
