package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// expansions returns a guard with a vault.
func expansions(t *testing.T) *Hidden {
	t.Helper()
	g, err := New(Options{State: NewState(nil, record.Discard()), Vault: vault.New(vault.Limits{})})
	if err != nil {
		t.Fatal(err)
	}
	return g.Hidden
}

// bitsIn returns a document that has a member for each bit of a number that is set, and so many elements.
func bitsIn(number int) json.RawMessage {
	var members []string
	for i := range 8 {
		if number>>i&1 == 1 {
			members = append(members, fmt.Sprintf(`"k%d":1`, i))
		}
	}
	return json.RawMessage(`{"list":[` + strings.TrimSuffix(strings.Repeat("1,", number), ",") + `],"of":{` + strings.Join(members, ",") + `}}`)
}

// An agent that probes hidden values in any way learns no more than is counted: over all values, the answers that it can get are a code in
// which each takes as many bits as are spent (Kraft's inequality). So those that take b bits are 2^b at most.
func TestProbesTellWhatIsSpent(t *testing.T) {
	h, round := expansions(t), 0
	probes := []string{"#/of/k0", "#/of/k1", "#/of/k2", "#/of/k3", "#/list/3", "#/list/7", "#/list/11", "#/of", "", "#/none"}
	rapid.Check(t, func(rt *rapid.T) {
		round++
		seed := rapid.IntRange(0, math.MaxInt).Draw(rt, "agent")
		count := rapid.IntRange(1, 10).Draw(rt, "probes")
		forgets := rapid.Bool().Draw(rt, "forgets")
		hash := fmt.Sprint(seed)
		cost := map[string]int{}
		for number := range 16 {
			ref := session.Ref{Key: fmt.Sprint(round, "/", number), Principal: "ann"}
			key, err := h.family(rt.Context(), ref)
			if err != nil {
				rt.Fatal(err)
			}
			v, err := h.vault.Put(rt.Context(), key, vault.Value{Server: Own, Part: bitsIn(number)})
			if err != nil {
				rt.Fatal(err)
			}
			seen := "" // what the agent does next goes by it alone
			for range count {
				choice := choose(hash + seen)
				if forgets && choice>>16&3 == 0 { // as after a restart
					h.probes.take(key)
				}
				first, second := probes[choice%len(probes)], probes[choice>>8%len(probes)]
				doc := fmt.Sprintf(`["[[%s%s]]","[[%s%s]]"]`, v.Name, first, v.Name, second)
				switch _, _, err := h.Expand(rt.Context(), ref, json.RawMessage(doc)); {
				case err == nil:
					seen += "1"
				case errors.Is(err, vault.ErrNotThere):
					seen += "0"
				default:
					rt.Fatal(err)
				}
			}
			if cost[seen], err = h.vault.Looked(rt.Context(), key); err != nil {
				rt.Fatal(err)
			}
		}
		sum := 0.0
		for _, bits := range cost {
			sum += math.Pow(2, -float64(bits))
		}
		if sum > 1 {
			rt.Errorf("the answers are no code: %v", cost)
		}
	})
}

var chances = maphash.MakeSeed()

// choose returns a number that goes by a text.
func choose(text string) int { return int(maphash.String(chances, text) >> 1) }

// No agent is told more than MaxLooked bits by expansions, whatever they end in; what it needs no telling goes on.
func TestProbesEnd(t *testing.T) {
	for name, pointer := range map[string]func(int) string{
		"failures": func(int) string { return "#/none" }, "parts": func(int) string { return "#/of" },
		"any": func(i int) string { return fmt.Sprintf("#/of/k%d", i*7%8) },
	} {
		h := expansions(t)
		ref := session.Ref{Key: "s", Principal: "ann"}
		key, err := h.family(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		v, err := h.vault.Put(t.Context(), key, vault.Value{Server: Own, Part: bitsIn(0b01011)})
		if err != nil {
			t.Fatal(err)
		}
		failures, ended := 0, false
		for i := range 2000 {
			_, filling, end := h.Expand(t.Context(), ref, json.RawMessage(fmt.Sprintf(`"[[%s%s]]"`, v.Name, pointer(i))))
			if end == nil {
				h.ventures.went(t.Context(), h, ref, filling.Run) // else that ends it first
			}
			if ended && !errors.Is(end, ErrSpent) {
				t.Fatalf("%s: after the last bit: %v", name, end)
			}
			told, err := h.vault.Looked(t.Context(), key)
			if err != nil || told > MaxLooked {
				t.Fatalf("%s: %d bits, %v", name, told, err)
			}
			if errors.Is(end, vault.ErrNotThere) {
				failures++
				ended = ended || told == MaxLooked // else the run that is paid for goes on
			}
		}
		if failures > MaxLooked || name != "parts" && failures == 0 {
			t.Errorf("%s: %d failures are told", name, failures)
		}
		if _, _, err := h.Expand(t.Context(), ref, json.RawMessage(`"`+v.Handle()+`"`)); err != nil {
			t.Errorf("%s: the whole value: %v", name, err)
		}
		if _, _, err := h.Expand(t.Context(), ref, json.RawMessage(`"[[`+v.Name+`#/of]]"`)); (err == nil) != (name == "parts") {
			t.Errorf("%s: a part: %v", name, err)
		}
	}
}

// An expansion that gets too long tells how long values are, which is spent too.
func TestTooLongExpansionsAreSpent(t *testing.T) {
	h := expansions(t)
	ref := session.Ref{Key: "s", Principal: "ann"}
	key, err := h.family(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	v, err := h.vault.Put(t.Context(), key, vault.Value{Server: Own, Part: json.RawMessage(`"` + strings.Repeat("x", 6<<20) + `"`)})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]error{2: nil, 3: ErrSpent} {
		if err := h.Spend(t.Context(), ref, MaxLooked); err != nil && !errors.Is(err, ErrSpent) {
			t.Fatal(err)
		}
		if _, _, err := h.Expand(t.Context(), ref, json.RawMessage(`"`+strings.Repeat(v.Handle(), n)+`"`)); !errors.Is(err, want) {
			t.Errorf("%d handles: %v", n, err)
		}
	}
}

// Whether calls with hidden values go tells no more than is counted: over all ends that there are in so many calls, the
// answers are a code (Kraft's inequality).
func TestVenturesTellWhatIsSpent(t *testing.T) {
	const ways = 4 // in which a call does not go
	var sum func(calls, run int) float64
	sum = func(calls, run int) float64 {
		if calls == 0 {
			return 1
		}
		went, ended := sum(calls-1, run+1), sum(calls-1, 1)
		return math.Pow(2, -float64(ventureBits(run))) * (went + ways*ended)
	}
	for calls := range 12 {
		if got := sum(calls, 1); got > 1 {
			t.Errorf("%d calls: %f", calls, got)
		}
	}
}
