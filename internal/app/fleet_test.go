package app

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/pins"
)

const (
	asAccepted = `{"name":"send","description":"Send <b>mail</b>.","inputSchema":{"type":"object","properties":{"to":{"type":"string"}}}}`
	asOffered  = `{"name":"send","description":"Send <i>mail</i>.",` +
		`"inputSchema":{"properties":{"to":{"type":"string","pattern":"<&>"}},"type":"object"}}`
)

func offering(tool string) pins.Offer {
	return pins.Offer{Server: "mail", Kind: pins.Tools, Entries: pins.Tools.Entries([]json.RawMessage{json.RawMessage(tool)})}
}

// lockWith returns a file of pins with a tool, and the same tool held as it is offered.
func lockWith(t *testing.T) (*pinsTold, heldTold) {
	t.Helper()
	at := &pinsTold{File: filepath.Join(t.TempDir(), "weir.lock")}
	at.Mutex = at.File + ".mutex"
	file, err := pins.Open(at.File, pins.Options{Mutex: at.Mutex})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Check(t.Context(), offering(asAccepted)); err != nil {
		t.Fatal(err)
	}
	c, err := file.Check(t.Context(), offering(asOffered))
	if err != nil || len(c.Held) != 1 {
		t.Fatalf("held %v, %v", c.Held, err)
	}
	return at, toldHeld(c.Held["send"], false)
}

// A difference reaches another process unchanged, and accepting it there pins the offered definition.
func TestAcceptingWhatAnotherProcessHolds(t *testing.T) {
	at, told := lockWith(t)
	raw, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	var h heldTold
	if err := json.Unmarshal(raw, &h); err != nil {
		t.Fatal(err)
	}
	h.canonical()
	if at.id(&h) != at.id(&told) {
		t.Error("the same difference has two ids")
	}
	if err := at.accept(t.Context(), h.Held, nil); err != nil {
		t.Fatal(err)
	}
	file, err := pins.Open(at.File, pins.Options{Mutex: at.Mutex})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := file.Check(t.Context(), offering(asOffered)); err != nil || len(c.Held) != 0 {
		t.Errorf("still held: %v, %v", c.Held, err)
	}
	if err := at.accept(t.Context(), h.Held, nil); err == nil {
		t.Error("accepted a second time, though the pin is another now")
	}
}

func TestAnyChangeIsAnotherDifference(t *testing.T) {
	at, told := lockWith(t)
	other := told
	other.Offered = pins.Instructions("Send <i>mail</i>. ")
	nothing := told
	nothing.Accepted = nil
	elsewhere := &pinsTold{File: at.File + "2"}
	for name, id := range map[string]string{"offered": at.id(&other), "accepted": at.id(&nothing), "file": elsewhere.id(&told)} {
		if id == at.id(&told) {
			t.Errorf("another %s has the same id", name)
		}
	}
	if err := (&pinsTold{File: "weir.lock"}).accept(t.Context(), told.Held, nil); err == nil {
		t.Error("accepted into a path that is relative to who knows what")
	}
	f := &processes{env: &home.Env{Environ: []string{"HOME=" + t.TempDir()}}}
	if _, _, err := f.held(t.Context(), at.id(&told)); err == nil {
		t.Error("found what nobody holds")
	}
}

func TestWhatIsTooLargeIsNotTold(t *testing.T) {
	_, told := lockWith(t)
	told.Offered = pins.Instructions(strings.Repeat("x", maxHeldSize))
	if h := toldHeld(told.Held, false); !h.TooLarge || h.Offered != nil || h.Name != "send" {
		t.Errorf("told %+v", h)
	}
}
