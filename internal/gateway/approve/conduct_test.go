package approve_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
)

// TestTrustOnlyFalls breaks contracts of servers that share names, programs and places, in any order. The trust in a
// server falls by breaches of entries that it shares a program or a place with, by no others, and rises by the word of
// a person alone.
func TestTrustOnlyFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := approve.NewConduct(store.NewMemory(nil), record.Discard())
		word := func(of string) string { return rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, of) }
		var all []*approve.Served
		for range 4 {
			all = append(all, &approve.Served{Name: word("name") + "s", Place: word("place"),
				Trust: rapid.SampledFrom([]contract.Trust{contract.Untrusted, contract.Known, contract.Trusted}).Draw(t, "trust")})
			if s := all[len(all)-1]; rapid.Bool().Draw(t, "command") {
				s.Program = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "program")
				s.Reached = s.Program + " in " + word("folder")
			} else {
				s.Reached = word("reached")
			}
		}
		one := rapid.SampledFrom(all)
		related := func(a, b *approve.Served) bool {
			bare := a.Reached+a.Place == "" && b.Reached+b.Place == ""
			return a.Reached != "" && a.Reached == b.Reached || a.Program != "" && a.Program == b.Program || a.Place != "" && a.Place == b.Place || bare && a.Name == b.Name
		}
		trust := func(s *approve.Served) contract.Trust {
			got, err := c.Trust(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			before := map[*approve.Served]contract.Trust{}
			for _, s := range all {
				before[s] = trust(s)
			}
			s := one.Draw(t, "server")
			b := approve.NewBreach(s, rapid.StringMatching("[a-f]").Draw(t, "tool"), guard.Breach{Occasion: "session", Data: rapid.Bool().Draw(t, "data")})
			was, is, err := c.Note(t.Context(), s, b)
			if err != nil || was != before[s] || is != trust(s) {
				t.Fatalf("%v: noted %s -> %s, %v; it was %s and is %s", s, was, is, err, before[s], trust(s))
			}
			for _, o := range all {
				if now := trust(o); now > before[o] || now < before[o] && !related(o, s) {
					t.Fatalf("a breach of %+v: %+v was %s and is %s", s, o, before[o], now)
				}
			}
		}
		standings, err := c.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range standings {
			if _, err := c.Restore(t.Context(), s, "why", "ann", "test"); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range all {
			if got := trust(s); got != s.Trust {
				t.Fatalf("%+v is %s after all were restored: %+v", s, got, standings)
			}
		}
	})
}

// TestOtherFolders breaks the contract of a command in folders of which it may be another program. None of them alone
// lowers the trust in it elsewhere, and each counts once.
func TestOtherFolders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := approve.NewConduct(store.NewMemory(nil), record.Discard())
		in := func(folder string) *approve.Served {
			return &approve.Served{Name: "crm", Program: "npx crm", Reached: "npx crm in " + folder, Trust: contract.Trusted}
		}
		folders := map[string]int{}
		for i := range rapid.IntRange(1, 30).Draw(t, "breaches") {
			folder := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "folder")
			was, err := c.Trust(t.Context(), in(folder))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := c.Note(t.Context(), in(folder), approve.NewBreach(in(folder), fmt.Sprint("t", i), guard.Breach{Occasion: "session"})); err != nil {
				t.Fatal(err)
			}
			if was != contract.Untrusted { // nothing is left to count
				folders[folder]++
			}
		}
		for _, folder := range []string{"a", "b", "c", "d", "e"} {
			n := folders[folder]
			for other := range folders {
				if other != folder {
					n++
				}
			}
			want := contract.Trusted - contract.Trust(min(n/approve.BreachesAStep, int(contract.Trusted)))
			if got, err := c.Trust(t.Context(), in(folder)); got != want || err != nil {
				t.Errorf("in folder %s: %s, %v, want %s; breaches %v", folder, got, err, want, folders)
			}
		}
	})
}

// TestForgivenBreachesComeAgain breaks a contract on one occasion again and again, and has a person forgive it between.
func TestForgivenBreachesComeAgain(t *testing.T) {
	kept := store.NewMemory(nil)
	c, other := approve.NewConduct(kept, record.Discard()), approve.NewConduct(kept, record.Discard())
	s := &approve.Served{Name: "crm", Reached: "program", Trust: contract.Trusted}
	for i := range 4 {
		for _, process := range []*approve.Conduct{c, other, c} {
			if _, _, err := process.Note(t.Context(), s, approve.NewBreach(s, "find", guard.Breach{Occasion: "session"})); err != nil {
				t.Fatal(err)
			}
		}
		all, err := c.All(t.Context())
		if err != nil || len(all) != 1 || len(all[0].Breaches) != 1 {
			t.Fatalf("time %d: %+v, %v", i, all, err)
		}
		if _, err := c.Restore(t.Context(), all[0], "why", "ann", "test"); err != nil {
			t.Fatal(err)
		}
	}
	b := approve.NewBreach(s, "find", guard.Breach{Changes: []string{"a"}})
	if _, _, err := c.Note(t.Context(), s, b); err != nil {
		t.Fatal(err)
	}
	for _, digests := range []map[string]bool{nil, {"b": true}} {
		if err := c.Reviewed(t.Context(), s, digests); err != nil {
			t.Fatal(err)
		}
	}
	for _, stranger := range []*approve.Served{
		{Name: "crm", Reached: "program", Place: "another file", Trust: contract.Trusted},
		{Name: "other", Reached: "program", Trust: contract.Trusted},
	} {
		if err := c.Reviewed(t.Context(), stranger, map[string]bool{"a": true}); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := c.All(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("before a person has accepted the definition: %+v, %v", all, err)
	}
	if err := c.Reviewed(t.Context(), s, map[string]bool{"a": true}); err != nil {
		t.Fatal(err)
	}
	if all, err := c.All(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("after that: %+v, %v", all, err)
	}
}

// TestBreachesOfManyProcesses notes breaches at one time. None is lost, and each fall of the trust is told.
func TestBreachesOfManyProcesses(t *testing.T) {
	kept := store.NewMemory(nil)
	var mu sync.Mutex
	var told []string
	recorder := recorderFunc(func(e *record.Event) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, e.Effect)
	})
	s := &approve.Served{Name: "s", Reached: "program", Trust: contract.Trusted}
	var all sync.WaitGroup
	for i := range 2 * approve.BreachesAStep {
		all.Go(func() {
			c := approve.NewConduct(kept, recorder)
			if _, _, err := c.Note(t.Context(), s, approve.NewBreach(s, fmt.Sprint("t", i), guard.Breach{Occasion: "session"})); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c := approve.NewConduct(kept, recorder)
	if got, err := c.Trust(t.Context(), s); got != contract.Untrusted || err != nil {
		t.Errorf("trust %s, %v", got, err)
	}
	if !slices.Contains(told, "lowered") {
		t.Error("nobody was told")
	}
}

// TestOneBreachIsKeptOnce notes one breach at one time, as listings of many sessions do.
func TestOneBreachIsKeptOnce(t *testing.T) {
	rows := func(noters int) (n int) {
		kept := store.NewMemory(nil)
		c := approve.NewConduct(kept, record.Discard())
		s := &approve.Served{Name: "s", Reached: "program", Trust: contract.Trusted}
		var all sync.WaitGroup
		for range noters {
			all.Go(func() {
				if _, _, err := c.Note(t.Context(), s, approve.NewBreach(s, "find", guard.Breach{Changes: []string{"a"}})); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, err := range kept.Questions(t.Context(), store.QuestionQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if one, many := rows(1), rows(32); one == 0 || one != many {
		t.Errorf("%d rows by one and %d by many", one, many)
	}
}

// recorderFunc is told of events.
type recorderFunc func(e *record.Event)

func (f recorderFunc) Record(_ context.Context, e *record.Event) error {
	f(e)
	return nil
}

// TestChangesCountOnce holds that a changed definition counts once, however often it is seen and on any day, and that a
// person's word on it stays.
func TestChangesCountOnce(t *testing.T) {
	c := approve.NewConduct(store.NewMemory(nil), record.Discard())
	s := &approve.Served{Name: "crm", Reached: "program", Trust: contract.Trusted}
	note := func(id string, changes ...string) {
		b := approve.NewBreach(s, "find", guard.Breach{Changes: changes})
		b.ID += id // as on another day
		if _, _, err := c.Note(t.Context(), s, b); err != nil {
			t.Fatal(err)
		}
	}
	breaches := func() (n int) {
		all, err := c.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range all {
			n += len(of.Breaches)
		}
		return n
	}
	note("", "a", "b")
	note("", "c") // of the same release
	note("later", "b", "a")
	if got := breaches(); got != 1 {
		t.Errorf("%d breaches of one release", got)
	}
	note("later", "b", "d")
	if got := breaches(); got != 2 {
		t.Errorf("%d breaches of two releases", got)
	}
	all, err := c.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Restore(t.Context(), all[0], "reviewed", "ann", "test"); err != nil {
		t.Fatal(err)
	}
	note("after", "d", "a")
	if got := breaches(); got != 0 {
		t.Errorf("%d breaches that a person forgave", got)
	}
}
