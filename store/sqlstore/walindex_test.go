//go:build linux || darwin

package sqlstore

import (
	"os"
	"path/filepath"
	"testing"
)

// An index that another program makes shorter tells nothing from then on, and ends no process.
func TestCutIndex(t *testing.T) {
	var header walHeader
	header[walInit] = 1
	f, err := os.Create(filepath.Join(t.TempDir(), "state.db-shm"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(header[:], header[:]...)); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	var x walIndex
	x.attach(info)
	if h, ok := x.header(); !ok || h != header {
		t.Fatalf("%v, %v", h, ok)
	}
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if h, ok := x.header(); ok || h != (walHeader{}) {
			t.Errorf("of a cut file: %v, %v", h, ok)
		}
	}
	if err := x.close(); err != nil {
		t.Error(err)
	}
}
