package pins_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/pins"
)

// confirmable returns a file with a pinned tool, of which a person has confirmed the parts of the arguments.
func confirmable(t *testing.T) (*pins.File, pins.Confirmation) {
	t.Helper()
	f := open(t, filepath.Join(t.TempDir(), "weir.lock"), pins.FirstUse)
	check(t, f, sendEmail)
	_, now := pins.Tools.Define(json.RawMessage(sendEmail))
	c := pins.Confirmation{Tool: "send_email", Definition: now, Arguments: &pins.Arguments{Destination: []string{"to"}, Content: []string{"body"}}}
	if err := f.Confirm(t.Context(), "mail", []pins.Confirmation{c}); err != nil {
		t.Fatal(err)
	}
	return f, c
}

func confirmed(t *testing.T, f *pins.File) int {
	t.Helper()
	lock, err := f.Lock()
	if err != nil {
		t.Fatal(err)
	}
	return len(lock.Confirmed("mail"))
}

// TestConfirmedAreOfOneDefinition holds that confirmed parts stay as long as the pinned definition is the same, and go
// with it, however that changes.
func TestConfirmedAreOfOneDefinition(t *testing.T) {
	changed := strings.Replace(sendEmail, "To anyone", "To everyone", 1)
	review := func(f *pins.File, tool string) error {
		entries := pins.Tools.Entries([]json.RawMessage{json.RawMessage(tool)})
		return f.Review(t.Context(), []pins.Offer{{Server: "mail", Kind: pins.Tools, Entries: entries}})
	}
	for _, c := range []struct {
		name string
		do   func(*pins.File) error
		want int
	}{
		{"it is listed again", func(f *pins.File) error { check(t, f, sendEmail); return nil }, 1},
		{"another is listed, and held", func(f *pins.File) error { check(t, f, changed); return nil }, 1},
		{"icons change, and hosts see those that are pinned", func(f *pins.File) error {
			check(t, f, strings.Replace(sendEmail, "1.png", "2.png", 1))
			return nil
		}, 1},
		{"the same is reviewed", func(f *pins.File) error { return review(f, sendEmail) }, 1},
		{"another is reviewed", func(f *pins.File) error { return review(f, changed) }, 0},
		{"another is reviewed, and then the first again", func(f *pins.File) error {
			if err := review(f, changed); err != nil {
				return err
			}
			return review(f, sendEmail)
		}, 0},
		{"another is accepted", func(f *pins.File) error {
			_, now := pins.Tools.Define(json.RawMessage(changed))
			return f.Accept(t.Context(), []pins.Held{{Server: "mail", ID: pins.ID{Kind: pins.Tools, Name: "send_email"}, Offered: now}})
		}, 0},
		{"the file has parts of one version and a definition of another", func(f *pins.File) error {
			src, err := os.ReadFile(f.Path())
			if err == nil {
				err = os.WriteFile(f.Path(), []byte(strings.Replace(string(src), "To anyone", "To all of them", 1)), 0o600)
			}
			return err
		}, 0},
	} {
		f, _ := confirmable(t)
		if err := c.do(f); err != nil {
			t.Fatal(err)
		}
		again := open(t, f.Path(), pins.FirstUse)
		if got := confirmed(t, again); got != c.want || confirmed(t, f) != c.want {
			t.Errorf("%s: %d tools have confirmed parts, want %d", c.name, got, c.want)
		}
	}
}

// TestConfirm holds that parts are kept of the pinned definition only, all or none of them, and can be taken back.
func TestConfirm(t *testing.T) {
	f, c := confirmable(t)
	if got := offer(t, f, pins.Tools, sendEmail).Confirmed["send_email"]; len(got.Destination) != 1 || got.Destination[0] != "to" {
		t.Errorf("a list has the parts %+v", got)
	}
	c.Arguments = nil
	other := c
	other.Tool = "other"
	if err := f.Confirm(t.Context(), "mail", []pins.Confirmation{c, other}); err == nil || confirmed(t, f) != 1 {
		t.Errorf("parts of a tool that is not pinned: %v", err)
	}
	other = c
	_, other.Definition = pins.Tools.Define(json.RawMessage(`{"name":"send_email"}`))
	if err := f.Confirm(t.Context(), "mail", []pins.Confirmation{other}); err == nil || confirmed(t, f) != 1 {
		t.Errorf("parts of another definition: %v", err)
	}
	if err := f.Confirm(t.Context(), "mail", []pins.Confirmation{c}); err != nil || confirmed(t, f) != 0 {
		t.Errorf("parts cannot be taken back: %v", err)
	}
}
