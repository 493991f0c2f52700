package service_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/service"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var systems = []string{"linux", "darwin", "windows"}

func place(system string) service.Place {
	p := service.Place{Home: "/home/ann", Config: "/home/ann/.config", State: "/home/ann/.local/state/weir", User: "501"}
	if system == "windows" {
		p.User = `DESK\ann`
	}
	return p
}

func TestGolden(t *testing.T) {
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			c := service.Command{Exe: "/opt/my tools/weir", Folder: "/home/ann/of & <work>",
				Args: []string{"run", "--config", "/home/ann/of & <work>/weir.yaml", "--listen", "127.0.0.1:8080",
					"--env", "XDG_STATE_HOME=/home/ann/.local/state"}}
			if system != "windows" {
				c.Env = []string{"PATH=/usr/local/bin:/usr/bin", `TOKEN=a "b" $c 100% \d`}
			}
			job, err := service.For(system, place(system), c)
			if err != nil {
				t.Fatal(err)
			}
			got := filepath.ToSlash(job.Path) + "\n"
			for _, steps := range [][]service.Step{job.Start, job.Stop, job.Forget} {
				for _, s := range steps {
					got += strings.Join(s.Words, " ") + "\n"
				}
			}
			got += strings.Join(job.Query, " ") + "\n" + job.Text
			path := filepath.Join("testdata", system+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Error(d)
			}
		})
	}
}

// words draws what an attacker may get into a path, and what systems replace.
func words() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom([]rune(`ab/ \"'%$;#&<>{}`+"`"+`hä€-@:+!~*?|=`)), 0, 12, -1)
}

// TestWords holds that a system reads exactly the words that were given.
func TestWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := append([]string{"/" + words().Draw(t, "exe")}, rapid.SliceOfN(words(), 0, 4).Draw(t, "args")...)
		system := rapid.SampledFrom(systems).Draw(t, "system")
		value := words().Draw(t, "value")
		c := service.Command{Exe: want[0], Args: want[1:], Folder: "/work"}
		if system != "windows" {
			c.Env = []string{"NAME=" + value}
		}
		job, err := service.For(system, place(system), c)
		if err != nil {
			if system == "windows" && strings.ContainsAny(strings.Join(want, ""), `"%$`) || system == "linux" && strings.ContainsAny(want[0], `\"'`) {
				return // it says so
			}
			t.Fatal(err)
		}
		var got []string
		switch system {
		case "linux":
			got = read(t, line(t, job.Text, "ExecStart="), true)
			if env := read(t, line(t, job.Text, "Environment="), false); !slices.Equal(env, []string{"NAME=" + value}) {
				t.Fatalf("variables: %q", env)
			}
		case "darwin":
			got = arguments(t, job.Text)
		case "windows":
			got = started(t, job.Text)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q, in %s", got, want, job.Text)
		}
	})
}

func line(t *rapid.T, text, name string) string {
	_, rest, ok := strings.Cut(text, "\n"+name)
	if !ok {
		t.Fatalf("no %s in %s", name, text)
	}
	first, _, _ := strings.Cut(rest, "\n")
	return first
}

// read takes a line of a unit apart, as systemd.syntax(7) and systemd.service(5) have it.
func read(t *rapid.T, line string, command bool) (all []string) {
	var word strings.Builder
	in, quote := false, rune(0)
	signs := []rune(line)
	next := func(i *int) rune {
		if *i++; *i == len(signs) {
			t.Fatalf("the line ends early: %s", line)
		}
		return signs[*i]
	}
	for i := 0; i < len(signs); i++ {
		switch r := signs[i]; {
		case quote != 0 && r == quote:
			quote = 0
		case r == '\\':
			if e := next(&i); e == '\\' || e == '"' {
				word.WriteRune(e)
			} else {
				t.Fatalf("escape of %q", e)
			}
		case quote == 0 && (r == '"' || r == '\''):
			in, quote = true, r
		case quote == 0 && r == ' ':
			if in {
				all = append(all, word.String())
			}
			word.Reset()
			in = false
			continue
		case r == '%':
			if e := next(&i); e != '%' {
				t.Fatalf("specifier %q", e)
			}
			word.WriteRune('%')
		case r == '$' && command && len(all) > 0:
			if e := next(&i); e != '$' {
				t.Fatalf("variable %q", e)
			}
			word.WriteRune('$')
		case quote == 0 && (r == ';' || r == '#'):
			t.Fatalf("bare %q", r)
		default:
			word.WriteRune(r)
		}
		in = true
	}
	if quote != 0 {
		t.Fatal("the quotes do not end")
	}
	if in {
		all = append(all, word.String())
	}
	return all
}

func arguments(t *rapid.T, text string) []string {
	var p struct {
		Dict struct {
			Array struct {
				String []string `xml:"string"`
			} `xml:"array"`
		} `xml:"dict"`
	}
	if err := xml.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return p.Dict.Array.String
}

// started takes the command line of a task apart, as CommandLineToArgvW does for words without quotes inside.
func started(t *rapid.T, text string) []string {
	var p struct {
		Actions struct {
			Exec struct{ Command, Arguments string }
		}
	}
	if err := xml.Unmarshal([]byte(strings.Replace(text, "UTF-16", "UTF-8", 1)), &p); err != nil {
		t.Fatal(err)
	}
	all, word, in, quote := []string{p.Actions.Exec.Command}, "", false, false
	for rest := p.Actions.Exec.Arguments; rest != ""; {
		n := len(rest) - len(strings.TrimLeft(rest, `\`))
		quotes := strings.HasPrefix(rest[n:], `"`)
		switch {
		case quotes:
			word += strings.Repeat(`\`, n/2)
			if n%2 == 1 {
				t.Fatal("a quote inside")
			}
			in, quote, rest = true, !quote, rest[n+1:]
		case n > 0:
			word, in, rest = word+rest[:n], true, rest[n:]
		case rest[0] == ' ' && !quote:
			if in {
				all = append(all, word)
			}
			word, in, rest = "", false, rest[1:]
		default:
			word, in, rest = word+rest[:1], true, rest[1:]
		}
	}
	if in {
		all = append(all, word)
	}
	return all
}

// TestVerify has systemd itself look for the program at odd paths, and check every setting.
func TestVerify(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not here")
	}
	for _, name := range []string{"weir", "a b", "100%h", "$HOME", "a;b", "-@:+!"} {
		dir := t.TempDir()
		exe := filepath.Join(dir, name)
		if err := os.WriteFile(exe, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		at := place("linux")
		at.Config = dir
		job, err := service.For("linux", at, service.Command{Exe: exe, Args: []string{"run", "--config", "$x %h"}, Folder: dir, Env: []string{"A=%h $b"}})
		if err != nil {
			t.Fatal(err)
		}
		verify := func() string {
			if err := job.Write(); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(analyze, "--user", "verify", job.Path)
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
			out, _ := cmd.CombinedOutput()
			return string(out)
		}
		if out := verify(); strings.Contains(out, "weir.service") {
			t.Errorf("%q: %s", name, out)
		}
		if err := os.Remove(exe); err != nil {
			t.Fatal(err)
		}
		if out := verify(); !strings.Contains(out, "weir.service") {
			t.Fatalf("%q: systemd does not miss the program: %s", name, out)
		}
	}
}

func TestStanding(t *testing.T) {
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			dir := t.TempDir()
			at := service.Place{Home: dir, Config: dir, State: dir, User: "ann"}
			job, err := service.For(system, at, service.Command{Exe: "/weir", Folder: "/"})
			if err != nil {
				t.Fatal(err)
			}
			stands := func(want service.Standing) {
				t.Helper()
				if got, _, err := job.Look(); got != want || err != nil {
					t.Fatalf("got %d, %v, want %d", got, err, want)
				}
			}
			stands(service.Absent)
			if err := job.Write(); err != nil {
				t.Fatal(err)
			}
			stands(service.Ours)
			if info, err := os.Stat(job.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Fatalf("%v, %v", info, err)
			}
			raw, err := os.ReadFile(job.Path)
			if err != nil {
				t.Fatal(err)
			}
			changed := append(slices.Clone(raw), raw[len(raw)-2:]...)
			put(t, job.Path, changed)
			stands(service.Changed)
			put(t, job.Path+".old", []byte("of somebody"))
			aside := job.Old()
			if err := job.Remove(); err != nil {
				t.Fatal(err)
			}
			stands(service.Absent)
			if kept, err := os.ReadFile(aside); err != nil || string(kept) != string(changed) || job.Old() == aside {
				t.Fatalf("%q, %v", kept, err)
			}
			if kept, err := os.ReadFile(job.Path + ".old"); err != nil || string(kept) != "of somebody" {
				t.Fatalf("%q, %v", kept, err)
			}
			if runtime.GOOS != "windows" {
				put(t, job.Path, raw)
				stands(service.Ours)
				if err := os.Chmod(job.Path, 0o644); err != nil {
					t.Fatal(err)
				}
				stands(service.Changed)
				aside = job.Old()
				if err := job.Write(); err != nil {
					t.Fatal(err)
				}
				stands(service.Ours)
				if info, err := os.Stat(aside); err != nil || info.Mode().Perm() != 0o600 {
					t.Fatalf("%v, %v", info, err)
				}
			}
			put(t, job.Path, []byte("[Service]\n"))
			stands(service.Foreign)
			if err := job.Write(); !errors.Is(err, service.ErrForeign) {
				t.Fatal(err)
			}
			if err := job.Remove(); !errors.Is(err, service.ErrForeign) {
				t.Fatal(err)
			}
			if text, _ := os.ReadFile(job.Path); string(text) != "[Service]\n" {
				t.Fatalf("%q", text)
			}
		})
	}
}

func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]service.Command{
		"a line in an argument":  {Exe: "/weir", Folder: "/", Args: []string{"a\nExecStartPre=/bin/sh"}},
		"a line in a variable":   {Exe: "/weir", Folder: "/", Env: []string{"A=b\r\nC=d"}},
		"a line in the folder":   {Exe: "/weir", Folder: "/a\nb"},
		"bytes that are no text": {Exe: "/weir", Folder: "/", Args: []string{"\xff"}},
	} {
		for _, system := range append(systems, "plan9") {
			if job, err := service.For(system, place(system), c); err == nil {
				t.Errorf("%s on %s: %s", name, system, job.Text)
			} else if strings.Contains(err.Error(), "C=d") {
				t.Errorf("%s on %s: the error shows a value: %v", name, system, err)
			}
		}
	}
}
