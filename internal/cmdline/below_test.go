package cmdline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weir-mcp/weir/internal/cmdline"
)

// TestTrees holds of which folders lines show files at any depth, and how the output names the files there.
func TestTrees(t *testing.T) {
	here := []cmdline.Tree{{Path: ".", Hidden: true}}
	seen := []cmdline.Tree{{Path: "."}}
	git := []string{".git"}
	type want struct {
		trees []cmdline.Tree
		told  cmdline.Form
	}
	for line, w := range map[string]want{
		"ls": {}, "ls -la src": {}, "ls -dR src": {}, "tree -L 1": {}, "find . -maxdepth 1": {}, "du -sh src": {}, "du -d 1": {}, "cat a.go": {}, "git status": {},
		"grep -n x a.go": {}, "git diff": {}, "rm -r a": {}, "cp -r a b": {}, "go test ./...": {},
		"ls -R": {seen, ""}, "ls -laR": {here, ""}, "tree": {seen, ""}, "tree -a": {here, ""}, "tree -L 2": {seen, ""}, "tree -L 1 -L 3": {seen, ""},
		"tree -I 'node_modules|.git' -a": {[]cmdline.Tree{{Path: ".", Hidden: true, Except: []string{"node_modules", ".git"}}}, ""},
		"tree -I '*'":                    {seen, ""},
		"du":                             {here, ""}, "rm -rv a": {[]cmdline.Tree{{Path: "a", Hidden: true}}, ""},
		"find": {here, "paths"}, "find . -name a.go": {here, "paths"}, "find . -print0": {here, ""}, "find a b -type f": {[]cmdline.Tree{{Path: "a", Hidden: true}, {Path: "b", Hidden: true}}, "paths"},
		"grep -rn x .": {here, "lines"}, "grep -rn x": {here, "lines"}, "grep -r x .": {here, "named"}, "grep -rh x .": {here, ""}, "grep -rl x .": {here, "paths"},
		"grep -rc x .": {here, ""}, "grep -r -A 2 x .": {here, ""}, "cd a && grep -rn x": {[]cmdline.Tree{{Path: "a", Hidden: true}}, "lines"},
		"grep -rn --exclude-dir=node_modules x .":  {[]cmdline.Tree{{Path: ".", Hidden: true, Except: []string{"node_modules"}}}, "lines"},
		"grep -rn -- --exclude-dir=node_modules .": {here, "lines"}, "grep -rn --exclude-dir=n* x .": {here, "lines"},
		"rg x": {seen, "named"}, "rg -n x": {seen, "lines"}, "rg -uu x": {here, "named"}, "rg --hidden -n x a": {[]cmdline.Tree{{Path: "a", Hidden: true}}, "lines"},
		"rg --files": {seen, "paths"}, "rg -l x": {seen, "paths"}, "rg --no-filename x": {},
		"rg -c -g '*' x": {here, ""}, "rg -n -t go x": {here, "lines"}, "git ls-files": {}, "git grep -o x": {}, "gofmt -d -s b": {[]cmdline.Tree{{Path: "b", Hidden: true, Except: git}}, ""},
		"git ls-files -o": {[]cmdline.Tree{{Path: ".", Hidden: true, Except: git}}, "paths"}, "gofmt -l .": {[]cmdline.Tree{{Path: ".", Hidden: true, Except: git}}, "paths"},
		"git status --ignored": {[]cmdline.Tree{{Path: ".", Hidden: true, Except: git}}, ""}, "git status -s": {},
		"grep -rh '--exclude-dir=node_modules|vendor' x .": {here, ""},
		// More than one command.
		"grep -rn x . | head -20": {here, "lines"}, "grep -rn x . | sort": {here, "lines"}, "find . | wc -l": {here, "counts"}, "find . | sort | head -n 5": {here, "paths"},
		"grep -rn x . || true": {here, "lines"}, "grep -rn x . 2>/dev/null": {here, "lines"},
		"grep -rn x . | sort -u": {here, ""}, "grep -rn x . | tail -3": {here, ""}, "grep -rn x . | grep -v y": {here, ""}, "grep -rn x . | cut -c1-9": {here, ""},
		"grep -rn x . && ls": {here, ""}, "cat a.go && grep -rn x .": {here, ""}, "grep -rn x . > out.txt": {here, ""}, "grep -rn x . | head -c 9": {here, ""},
		"grep -rn x . && head < a.go": {here, ""}, "grep -rn x . || cat a.go | head": {here, ""}, "tree | wc -l": {seen, ""}, "cat a.go; find . | wc -l": {here, ""},
		"grep -rn x . && echo done": {here, ""}, "find . | wc -l && find .": {append(here, here...), ""}, "grep -rn x . && grep -rn y .": {append(here, here...), "lines"},
		"grep -rn x . && find .": {append(here, here...), ""},
	} {
		deed, _ := cmdline.Understand(line)
		if diff := cmp.Diff(w, want{deed.Trees, deed.Told}, cmp.AllowUnexported(want{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
}
