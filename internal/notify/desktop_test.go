package notify_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weir-mcp/weir/internal/notify"
)

// program puts a program on the path that writes its arguments down, one a line.
func program(t *testing.T, name string) (wrote string) {
	dir := t.TempDir()
	wrote = filepath.Join(dir, "wrote")
	script := "#!/bin/sh\nfor a; do printf '%s\\n' \"$a\" >>" + wrote + "; done\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return wrote
}

// TestTheDesktop shows a question with a name that wants to be an option, markup and a shell command.
func TestTheDesktop(t *testing.T) {
	for system, name := range map[string]string{"linux": "notify-send", "darwin": "osascript"} {
		wrote := program(t, name)
		desktop := notify.Desktop{System: system, Environ: []string{"DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere"}}
		if err := desktop.Available(); err != nil {
			t.Fatal(err)
		}
		r := newRig(t, notify.Options{Desktop: &desktop})
		q := question("sha256:b")
		q.Name = "--icon=x <b>$(touch it)</b>\n\"; display dialog \"\u202e"
		if _, err := r.book.Open(t.Context(), q, nil); err != nil {
			t.Fatal(err)
		}
		r.counted(t, notify.Count{Channel: "desktop", Result: notify.Delivered, N: 1})
		got, err := os.ReadFile(wrote)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")
		if len(lines) < 2 || lines[len(lines)-2] != "Weir: a question waits" {
			t.Fatalf("%s: ran with %q", system, lines)
		}
		if text := lines[len(lines)-1]; !strings.HasPrefix(text, "About --icon?x??b???touch?it?") || strings.ContainsAny(text, "<>$\"\\;&") {
			t.Errorf("%s: showed %q", system, text)
		}
		if system == "linux" && !slices.Contains(lines, "--") {
			t.Errorf("options do not end: %q", lines)
		}
	}
}

func TestNoDesktop(t *testing.T) {
	program(t, "notify-send")
	for _, d := range []notify.Desktop{
		{System: "linux"}, {System: "linux", Environ: []string{"XDG_RUNTIME_DIR=" + t.TempDir()}}, {System: "windows"}, {System: "darwin"},
	} {
		if d.System == "darwin" {
			t.Setenv("PATH", t.TempDir())
		}
		if err := d.Available(); err == nil {
			t.Errorf("%+v is available", d)
		}
	}
}

// TestTheDesktopIsNotFlooded shows a few of many.
func TestTheDesktopIsNotFlooded(t *testing.T) {
	program(t, "notify-send")
	var mu sync.Mutex
	n := 0
	r := newRig(t, notify.Options{Desktop: &notify.Desktop{System: "linux", Environ: []string{"DBUS_SESSION_BUS_ADDRESS=x"},
		Run: func(context.Context, []string, []string) error {
			mu.Lock()
			defer mu.Unlock()
			n++
			return nil
		}}})
	for range 20 {
		for _, e := range events() {
			if err := r.n.Record(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.counted(t, notify.Count{Channel: "desktop", Result: notify.Delivered, N: 6}, notify.Count{Channel: "desktop", Result: notify.Dropped, N: 54})
	if n != 6 {
		t.Errorf("%d were shown", n)
	}
}
