package exchange

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// A program that waits keeps its calls, whatever others do: where there is no room for more, no other begins.
func TestProgramsThatWait(t *testing.T) {
	var p programs
	later := time.Now().Add(time.Hour)
	wait := func(owner, key string, until time.Time) error {
		if _, err := p.begin(owner, key); err != nil {
			return err
		}
		p.end(key, &waitingProgram{owner, []doneCall{{result: key}}, nil, until})
		return nil
	}
	if err := wait("ann", "first", later); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range 2 * maxWaiting {
		if err := wait(fmt.Sprintf("owner %d", i%64), fmt.Sprintf("other %d", i), later); errors.Is(err, errWaiting) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if before, err := p.begin("ann", "first"); err != nil || len(before.done) != 1 || refused < maxWaiting {
		t.Errorf("%v, %v, %d refused", before, err, refused)
	}
	if _, err := p.begin("ann", "first"); !errors.Is(err, errSame) {
		t.Errorf("the same program runs twice: %v", err)
	}
	p.end("first", nil)
	for name := range p.waiting {
		w := p.waiting[name]
		w.until = time.Now().Add(-time.Second)
		p.waiting[name] = w
	}
	if before, err := p.begin("ann", "first"); err != nil || before.principal != "" {
		t.Errorf("after all is over: %v, %v", before, err)
	}
	if len(p.waiting) != 0 {
		t.Errorf("%d wait", len(p.waiting))
	}
	for i := 1; i < maxRunningPrincipal; i++ {
		if _, err := p.begin("ann", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.begin("ann", "more"); !errors.Is(err, errRunning) {
		t.Errorf("one more runs: %v", err)
	}
	if _, err := p.begin("ben", "more"); err != nil {
		t.Error(err)
	}
}
