package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func TestAsyncStderrKeepsOrder(t *testing.T) {
	var got bytes.Buffer
	s := newAsyncStderr(&got)
	var want strings.Builder
	for i := range 10000 {
		fmt.Fprintln(s, i)
		fmt.Fprintln(&want, i)
	}
	s.flush(time.Minute)
	if got.String() != want.String() {
		t.Error("what was written is not what came out")
	}
}

func TestAsyncStderrWaitsForNobody(t *testing.T) {
	r, w := io.Pipe()
	s := newAsyncStderr(w)
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 4096 {
		if n, err := s.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	s.flush(time.Millisecond)
	go func() {
		<-s.done
		w.Close()
	}()
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	kept := bytes.Count(got, line)
	if want := fmt.Sprintf("\nweir: %d bytes of standard error were lost: nobody read them\n", (4096-kept)*1024); kept < 1000 || !strings.HasSuffix(string(got), want) {
		t.Errorf("%d lines kept, the end is %q, want %q", kept, got[len(got)-100:], want)
	}
}
