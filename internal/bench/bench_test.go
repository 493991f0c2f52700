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

// TestBench measures for a moment, to see that every way works and is counted. It does not check the figures.
func TestBench(t *testing.T) {
	for cells, ways := range map[string][]string{
		"stdio/plain/1KiB/1": {direct, relay, weirOff, weirOn}, "http/change/1KiB/1": {direct, relay, weirOff, weirOn},
		"stdio/change/1KiB/1": {weirOn, disk}, "stdio/change/100KiB/1/paced": {relay, weirOn}, "start": {direct, weirOn},
	} {
		var out bytes.Buffer
		if err := bench(t.Context(), []string{"-quick", "-json", "-only", cells}, &out); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out.Bytes()) {
			t.Fatalf("%s: not JSON: %s", cells, out.Bytes())
		}
		for _, way := range ways {
			if !bytes.Contains(out.Bytes(), []byte(`"`+way+`"`)) {
				t.Errorf("%s: nothing was measured of %s: %s", cells, way, out.Bytes())
			}
		}
	}
}
