package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// linked returns the versions of the modules that Weir links on a system.
func linked(t *testing.T, system string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", "./cmd/weir")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH=amd64", "GOFLAGS=-mod=readonly")
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(output)) {
		if path, version, _ := strings.Cut(strings.TrimSpace(line), " "); path != "" && path != module {
			versions[path] = version
		}
	}
	return versions
}

// TestLinkedModules compares the list of linked modules in the manual with those that Weir links on Linux.
func TestLinkedModules(t *testing.T) {
	page := read(t, "docs/releases.md")
	listed := map[string]bool{}
	have := linked(t, "linux")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [0-9.]* \\| [^|]+ \\|$").FindAllStringSubmatch(page, -1) {
		listed[row[1]] = true
		if have[row[1]] == "" {
			t.Errorf("docs/releases.md lists %s, which is not linked", row[1])
		}
	}
	for m := range have {
		if !listed[m] {
			t.Errorf("docs/releases.md has no row with the reason for %s", m)
		}
	}
}

// TestReleaseModule notices a dependency that was added to Weir and not to the module in release, which replaces Weir
// by this tree: its build fails until somebody runs go mod tidy there.
func TestReleaseModule(t *testing.T) {
	mod, sum := read(t, "release/go.mod"), read(t, "release/go.sum")
	for _, system := range []string{"linux", "darwin", "windows"} {
		for path, version := range linked(t, system) {
			if problem := lacks(t, mod, sum, path, version); problem != "" {
				t.Errorf("on %s, %s: run go mod tidy in release", system, problem)
			}
		}
	}
	const needs = "module m\n\nrequire example.com/a v1.2.0\n"
	const hash = "example.com/a v1.2.0 h1:X=\nexample.com/a v1.2.0/go.mod h1:X=\n"
	for _, c := range []struct{ mod, sum, version string }{
		{"module m\n", hash, "v1.2.0"}, {needs, hash, "v1.3.0"}, {needs, "example.com/a v1.2.0/go.mod h1:X=\n", "v1.2.0"},
	} {
		if lacks(t, c.mod, c.sum, "example.com/a", c.version) == "" {
			t.Errorf("%+v passes", c)
		}
	}
	if problem := lacks(t, needs, hash, "example.com/a", "v1.1.0"); problem != "" {
		t.Error(problem)
	}
}

// lacks says what a go.mod and a go.sum lack to link a module in a version or a later one.
func lacks(t *testing.T, mod, sum, path, version string) string {
	t.Helper()
	parsed, err := modfile.ParseLax("go.mod", []byte(mod), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range parsed.Require {
		switch {
		case r.Mod.Path != path:
		case semver.Compare(r.Mod.Version, version) < 0:
			return "go.mod has " + r.Mod.String() + ", and not " + version
		case !strings.Contains("\n"+sum, "\n"+path+" "+r.Mod.Version+" h1:"):
			return "go.sum has no hash of " + r.Mod.String()
		default:
			return ""
		}
	}
	return "go.mod has no " + path
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
