package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// tried is a release whose programs are the given bytes.
func tried(t *testing.T, targets string) (*release, []program) {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	r, err := newRelease(t.Context(), "..", filepath.Join(t.TempDir(), "dist"), "v1.2.3", targets)
	if err != nil {
		t.Fatal(err)
	}
	var programs []program
	for _, p := range r.targets {
		programs = append(programs, program{p, []byte("program for " + p.String())})
	}
	return r, programs
}

// pack makes everything but programs and the lists of their modules.
func pack(t *testing.T, r *release, programs []program) {
	t.Helper()
	pages := []file{{"share/man/man1/weir.1.gz", 0o644, []byte("page")}}
	for _, p := range programs {
		for _, step := range []func(program, []file) error{r.archive, r.packages} {
			if err := step(p, pages); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, err := range []error{r.npm(programs), r.image(programs), r.chart(), r.manifests()} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSame packs one program twice, in two directories: every file is the same.
func TestSame(t *testing.T) {
	first, programs := tried(t, allTargets)
	pack(t, first, programs)
	second, programs := tried(t, allTargets)
	pack(t, second, programs)
	if len(first.sums) < 20 || len(first.sums) != len(second.sums) {
		t.Fatalf("%d and %d files", len(first.sums), len(second.sums))
	}
	for name, sum := range first.sums {
		if second.sums[name] != sum {
			t.Errorf("%s differs", name)
		}
	}
}

// TestManifests compares the manifests of package managers with golden files; the digests in them are those of the
// archives.
func TestManifests(t *testing.T) {
	r, programs := tried(t, allTargets)
	pack(t, r, programs)
	for _, name := range []string{
		"homebrew/weir.rb", "winget/WeirMCP.Weir.yaml", "winget/WeirMCP.Weir.locale.en-US.yaml", "winget/WeirMCP.Weir.installer.yaml",
	} {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for archive, sum := range r.sums { // they depend on README.md and LICENSE too
			text = strings.NewReplacer(sum, "SHA256-OF-"+archive, strings.ToUpper(sum), "SHA256-OF-"+archive).Replace(text)
		}
		golden := filepath.Join("testdata", filepath.Base(name)+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if text != string(want) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// TestManual finds a page for each command of the table.
func TestManual(t *testing.T) {
	pages, err := manual(time.Unix(1700000000, 0).UTC(), "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, p := range pages {
		have[p.name] = true
	}
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		if !cmd.IsAvailableCommand() && cmd.HasParent() {
			return
		}
		if name := "share/man/man1/" + strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1.gz"; !have[name] {
			t.Errorf("no %s", name)
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(cli.Commands())
	if len(pages) < 30 {
		t.Errorf("%d pages", len(pages))
	}
}

// TestSignature signs the checksums with a new key: the public key accepts them, and nothing else.
func TestSignature(t *testing.T) {
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	encrypted, err := minisign.EncryptKey("secret", private)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "minisign.key")
	if err := os.WriteFile(key, encrypted, 0o600); err != nil {
		t.Fatal(err)
	}
	r, programs := tried(t, "linux/amd64")
	pack(t, r, programs)
	t.Setenv("MINISIGN_PASSWORD", "wrong")
	if err := r.sign(key); err == nil {
		t.Error("a key with another password signs")
	}
	t.Setenv("MINISIGN_PASSWORD", "secret")
	if err := r.sign(key); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(r.out, sumsName))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := os.ReadFile(filepath.Join(r.out, sumsName+".minisig"))
	if err != nil {
		t.Fatal(err)
	}
	if !minisign.Verify(public, sums, signature) {
		t.Error("the signature does not fit")
	}
	if minisign.Verify(public, append(bytes.Clone(sums), '\n'), signature) {
		t.Error("the signature fits other checksums")
	}
	if lines := strings.Count(string(sums), "\n"); lines != len(r.sums) {
		t.Errorf("%d lines for %d files", lines, len(r.sums))
	}
}

// TestRefusals holds that no release is made by mistake: without a key, with a strange version, over files of others.
func TestRefusals(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"neither a key nor -unsigned": {"-version", "v1.2.3"},
		"both":                        {"-version", "v1.2.3", "-unsigned", "-key", "k"},
		"no version":                  {"-unsigned"},
		"flags in the version":        {"-unsigned", "-version", "v1.2.3 -extld=evil"},
		"an unknown target":           {"-unsigned", "-version", "v1.2.3", "-targets", "plan9/386"},
		"a directory of others":       {"-unsigned", "-version", "v1.2.3", "-out", full},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), append(args, "-source", "..")); err == nil {
				t.Error("it is made")
			}
		})
	}
	if _, err := os.Stat(filepath.Join(full, "thesis.txt")); err != nil {
		t.Error(err)
	}
}

// TestImage reads the layout again: an image that is not root's, without a shell.
func TestImage(t *testing.T) {
	r, programs := tried(t, "linux/amd64,linux/arm64")
	pack(t, r, programs)
	index := blob(t, r, "index.json")
	var of struct {
		Manifests []struct {
			Digest   string
			Platform struct{ Architecture string }
		}
	}
	decode(t, index, &of)
	if len(of.Manifests) != 2 || of.Manifests[0].Platform.Architecture != "amd64" || of.Manifests[1].Platform.Architecture != "arm64" {
		t.Fatalf("%s", index)
	}
	for _, m := range of.Manifests {
		var image struct{ Config struct{ Digest string } }
		decode(t, blob(t, r, m.Digest), &image)
		var config struct {
			Config struct {
				User       string
				Entrypoint []string
			}
		}
		decode(t, blob(t, r, image.Config.Digest), &config)
		if config.Config.User != nobody || len(config.Config.Entrypoint) != 1 {
			t.Errorf("%+v", config)
		}
	}
	if n := bytes.Count(roots(), []byte("BEGIN CERTIFICATE")); n < 100 {
		t.Errorf("%d roots", n)
	}
}

func blob(t *testing.T, r *release, name string) []byte {
	t.Helper()
	if digest, ok := strings.CutPrefix(name, "sha256:"); ok {
		name = "blobs/sha256/" + digest
	}
	data, err := os.ReadFile(filepath.Join(r.out, "image", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
