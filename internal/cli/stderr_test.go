package cli

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
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
	notice := regexp.MustCompile("(?m)^weir: (\\d+) bytes of standard error were lost: nobody read them\n")
	lost := 0
	for _, m := range notice.FindAllSubmatch(got, -1) { // one for each gap: the first text may be taken before or after it was full
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		lost += n
	}
	kept := notice.ReplaceAll(got, nil)
	if n := bytes.Count(kept, line); n*len(line) != len(kept) || n < 1000 || n > 3000 || lost != (4096-n)*len(line) {
		t.Errorf("%d bytes are kept in %d lines, and %d said to be lost", len(kept), n, lost)
	}
}
