package files

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/guard"
)

// TestOrdersOfShells gives a shell commands of Weir that are for a person, in spellings of shells, and ordinary ones.
func TestOrdersOfShells(t *testing.T) {
	refused := []string{
		"weir approve K", "weir 2>/dev/null approve K", "weir 2>&1 approve K", "weir </dev/null approve K", "weir >/tmp/out approve K", "weir \\\napprove K",
		"weir app\\\nrove K", "weir $'approve' K", `weir $"approve" K`, `$'weir' approve K`, "weir approv[e]", "weir a{pprove,}", "weir {approve,K}", "weir {a,b}pprove",
		"weir ${z} approve", "we${z}ir appr${z}ove K", "weir $'\\x61pprove' K", "weir --code 'a b' approve --yes K", "weir --config '/a|b' approve K",
		"echo approve --yes K | xargs weir", "xargs weir <<E\napprove K\nE", "base64 -d f | xargs weir", "xargs -a f weir session", "parallel weir ::: approve ::: K",
		"tmux send-keys weir Space approve", "npx weir-mcp approve K", "npx -y weir-mcp@latest approve K", "npx weir-mcp $'\\x61pprove'",
		"go run github.com/weir-mcp/weir/cmd/weir@latest approve", "go run ./cmd/weir run", "docker run weir-mcp/weir:latest approve K",
		"weir ap`prove K", "weir ap^prove K", "weir ap%z%prove K", "weir review 2>&1 --accept", "weir review $'--accept'", `weir review --acc"ept"=true`,
		"w=weir; $w approve K", "alias w=weir; w approve K", "x=approve; weir $x K", "cp $(which weir) /tmp/x; /tmp/x approve K", "/usr/bin/we?r approve K",
		"/usr/bin/we[i]r approve K", "WEIR.EXE approve K", `C:\weir\weir.cmd approve K`, "node weir.js approve K", "weir `# x` approve K", "weir $() approve K",
		`weir "$@"`, "weir $*", "weir <f", "weir", "sudo weir <f $x", "x=1 weir -- $x", "if weir $x; then y; fi", "y=$(weir $x)", "weir session $x", "weir ses{sion,} x",
		"x=new; weir 2>&1 session $x", "weir session 2>&1 declassify s --drop credentials", "weir 2>/dev/null folders confirm --yes d", "weir service 2>&1 install",
		"weir run", "weir run --console 127.0.0.1:1", "weir wrap --console=127.0.0.1:1 -- x", "cd; weir approve K", "cd\nweir approve K", "cd \\\n;weir approve K", "$cd weir approve K", "echo cd weir approve K | sed 's/cd //' | sh", "cd weir approve K",
		"w'e'ir $'\\x61pprove' K", ">o weir $x", "> o weir $x", "weir --help $x", "weir --help=false approve", "(cd weir; weir approve K)",
		`subprocess.run(["weir", "approve"])`, `subprocess.run(["weir", "run"])`, "weir\u00a0approve K", "Weir APPROVE K",
		"export WEIR_SCRIPTED_{APPROVAL,X}=1", "env WEIR_SCRIPTED_$''APPROVAL=1", "env WEIR_SCRIPTED_\\\nAPPROVAL=1", "WEIR_SCRI${z}PTED_APPROVAL=1",
		"cd ~/bin/weir; $(basename $(pwd)) approve K", "cd ~/bin/weir; pwd | xargs basename | xargs -I{} {} approve K", "cd /usr/bin/weir; fc -s cd= approve",
		"cd /usr/bin/weir; history | tail -2 | sh; approve", "cd /usr/bin/weir; $_ approve K", "cd /usr/bin/weir; ${_} approve K", "cd /usr/bin/weir; !$ approve K", "cd() { $1 approve K; }; cd weir", "cd weir; ${PWD##*/} approve K",
		"git -C /usr/bin/weir; $_ approve K", "git() { $2 approve K; }; git -C weir", "git -C ~/weir -c alias.x='!*/* approve K' x", "alias git=; git -C weir approve K",
		"echo 'git -C weir approve K' | sed 's/git -C //' | sh", "sed 's/git -C //' <<E | sh\ngit -C weir approve K\nE", "echo \"; git -C weir approve K\" | sed s/.*C// | sh",
		"xgit -C weir approve K", "env git -C x weir approve K", "git -C x && weir approve K", "git -C weir; weir approve K", "git -C weir;weir approve K", "git -C weir&& approve K",
		"xargs -I grep weir f", "xargs -a f -n 1 weir", "xargs sh -c 'grep weir' x", "xargs rg --pre weir", "xargs echo weir | sh", "xargs grep approve weir",
		"xargs -P 2 -d grep weir session", "xargs env weir", "weir state backup `weir $x`", "weir state backup $(weir $x)", "weir state $x backup", "weir detect exceptions $x ID",
		"weir session --store $x list", "weir reload $x", "weir state \"$x\"", "weir state backup; weir $x", "weir state backup $HOME/x", "weir state backup --keys x", "weir state backup $x y", "weir state restore $HOME/x",
		"export $(printf WEIR_%s SCRIPTED_APPROVAL)=1", "set weir_scripted_approval=1",
	}
	ordinary := []string{
		"ls weir", "ls ./weir/ | head", "cd weir && go test ./...", "cd weir; git commit -m 'deny it'", "pushd weir || exit; echo deny", "cd weir\ngit commit -m 'deny it'", "cd ~/src/weir && git commit -m 'approve: end the session when it is new'", "grep -rn weir docs",
		"grep -r weir *.go > out", `git commit -m "weir: fix"`, "git clone https://github.com/weir-mcp/weir", "git clone $url/weir.git", "weir status", "weir status --json | jq .",
		"weir wrap -- npx -y @example/server $HOME", "weir wrap --name x -- sh -c 'ls *'", "weir --help", "weir lint --help", "if weir status; then echo yes; fi",
		"go build -o weir ./cmd/weir", "timeout 60 go test ./weir", "sudo rm -rf build/weir", "sh -c 'weir status'", "env A=1 weir doctor", "git add weir && git push",
		"cat <<E\nweir keeps *one* label\nE", `subprocess.run(["weir", "status"])`, "weir policy test policy.yaml", "npx weir-mcp status", "go test ./internal/approve -run Weir",
		`git -C ~/src/weir commit -m "deny what is not known"`, "git -C ~/src/weir add -A && git -C ~/src/weir commit -m 'approve: ask'", "git -C ../weir log --grep approve | head",
		"git -C weir commit -m \"$(cat <<'EOF'\nhook: deny it\nEOF\n)\"", "find . -name '*.go' | xargs grep weir", "git ls-files | xargs -0 grep -n weir", "find . -print0 | xargs -0 -n10 grep -l weir",
		"weir state backup /tmp/x", "weir session list --principal $USER", "weir audit show $n | head", "weir detect test *.toml",
		"cd weir && pwd && git commit -m 'hook: a function of history()'", "cd weir/internal/approve && ls", "approve-all --yes", "weir lint *.json", "weir tools --config $HOME/weir.yaml", "echo approve", "rm *.o && echo deny",
	}
	for want, commands := range map[bool][]string{true: refused, false: ordinary} {
		for _, command := range commands {
			why := orders(guard.Touch{Name: "Bash", Changes: true, Texts: []guard.Text{{Path: "command", Text: command, Content: true}}})
			if (why != "") != want {
				t.Errorf("%q: %q, want it refused: %v", command, why, want)
			}
		}
	}
}

// TestOrdersOfCalls spreads a command over arguments, and gives texts that are no commands.
func TestOrdersOfCalls(t *testing.T) {
	names := func(all ...string) (texts []guard.Text) {
		for _, name := range all {
			texts = append(texts, guard.Text{Path: name, Text: name, Name: true})
		}
		return texts
	}
	values := func(all ...string) (texts []guard.Text) {
		for i := 0; i < len(all); i += 2 {
			texts = append(texts, guard.Text{Path: all[i], Text: all[i+1]})
		}
		return texts
	}
	for _, c := range []struct {
		tool   string
		texts  []guard.Text
		wanted bool
	}{
		{"run", values("command", "weir", "args", "approve", "args", "K"), true},
		{"run", values("args", "approve", "args", "--yes", "args", "K", "command", "weir"), true},
		{"run", values("args", "approve", "env.WEIR_SCRIPTED_APPROVAL", "1", "command", "weir"), true},
		{"x", append(values("command", "ls"), names("env.WEIR_SCRIPTED_APPROVAL", "WEIR_SCRIPTED_APPROVAL")...), true},
		{"x", values("env.name", "WEIR_SCRIPTED_APPROVAL"), true},
		{"x", values("executable", "weir", "arguments", "approve"), true},
		{"x", values("program", "weir", "parameters", "approve"), true},
		{"x", values("binary", "weir", "flags", "--yes", "sub", "approve"), true},
		{"x", append(values("command", "weir"), names("approve")...), true},
		{"x", values("args", "run", "command", "weir", "cwd", "/x"), true},
		{"x", values("args", "$x", "command", "weir"), true},
		{"write_stdin", values("chars", "weir approve K\n"), true},
		{"send_keys", values("keys", "weir Space approve Enter"), true},
		{"terminal_send", values("text", "weir approve K"), true},
		{"evaluate", values("source", "weir approve K"), true},
		{"x", values("lines", "weir approve K"), true},
		{"run", values("args", "status", "command", "weir", "cwd", "/x"), false},
		{"run", values("command", "weir", "args", "wrap", "args", "--", "args", "npx", "args", "{}"), false},
		{"create_page", values("title", "weir", "body", "weir approve ID answers"), false},
		{"git_commit", values("repo_path", "/src/weir", "message", "approve: say who answers"), false},
		{"create_branch", values("repo", "weir", "name", "hook"), false},
		{"Bash", values("command", "weir status", "description", "see whether to approve"), false},
		{"add_comment", values("path", "cmd/weir", "line", "3", "body", "see weir approve"), false},
		{"edit", []guard.Text{{Path: "lines", Text: "weir approve", Content: true}}, false},
		{"edit", []guard.Text{{Path: "edits.newText", Text: "weir approve, " + Scripted, Content: true}}, false},
	} {
		if got := orders(guard.Touch{Name: c.tool, Changes: true, Texts: c.texts}); (got != "") != c.wanted {
			t.Errorf("%s %v: %q, want it refused: %v", c.tool, c.texts, got, c.wanted)
		}
	}
	if got := orders(guard.Touch{Name: "search", Texts: values("query", "does weir approve calls?")}); got != "" {
		t.Errorf("a search is refused: %s", got)
	}
}

// TestOrdersIsLinear counts the looks at words of long commands.
func TestOrdersIsLinear(t *testing.T) {
	for _, word := range []string{"weir ", "weir status ", "sudo ", "cd ", "weir;", "a=", "we?r ", "${", "$(", "[", "kill ", "mv "} {
		count := func(size int) int {
			text := strings.Repeat(word, size/len(word))
			o := newOrder(text)
			for _, form := range formsOf(text) {
				o.read(form)
			}
			o.starts(text)
			return o.steps
		}
		if half, whole := count(1<<19), count(1<<20); whole > 4<<20 || whole > 2*half+64 {
			t.Errorf("%q: %d looks at 512 KiB, %d at 1 MiB", word, half, whole)
		}
	}
}
