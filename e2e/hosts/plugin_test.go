//go:build unix

package hosts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asking has plugins of opencode tell of a call and of its result, and prints how that ends.
const asking = `
for (const plugin of process.argv.slice(2)) {
  const { Weir } = await import(plugin)
  const hooks = await Weir({ client: {}, directory: "/" })
  await hooks["chat.message"]({ sessionID: "s" })
  for (const name of ["tool.execute.before", "tool.execute.after"]) {
    let how = "goes"
    await hooks[name]({ tool: "bash", sessionID: "s", callID: "c", args: {} }, { args: {}, output: "x" }).catch(() => (how = "denied"))
    console.log(how)
  }
}
`

// TestPluginDenies has the plugin of opencode ask programs that fail in all ways: none of them lets a call go, or a result.
func TestPluginDenies(t *testing.T) {
	r := newRig(t, opencode)
	opencode.prepare(r, r.servers())
	r.weir("install", opencode.id, "--yes")
	plugin := r.read(filepath.Join(r.home, ".config", "opencode", "plugins", "weir.js"))
	if !strings.Contains(plugin, world.weir) {
		t.Fatal(plugin)
	}
	answers := []string{
		`echo '{"proceed":true}'`, // the only one that lets it go
		`echo '{"proceed":false}'`, `echo '{"proceed":"true"}'`, `echo '{"proceed":true}'; exit 1`, `echo '{"proceed":true}'; exit 2`,
		`echo '{"proceed":true}'; kill -9 $$`, `echo '{"proceed":true} {"proceed":false}'`, `echo '{}'`, `echo null`, `echo true`,
		`exit 0`, `kill -9 $$`, `no-such-command`, "",
	}
	script := filepath.Join(r.home, "ask.mjs")
	r.write(script, asking)
	args, want := []string{script}, strings.Repeat("goes\n", 2)+strings.Repeat("denied\n", 2*len(answers)-2)
	for i, answer := range answers {
		program := filepath.Join(r.home, fmt.Sprintf("answer-%d", i))
		if answer != "" { // else it is not there
			r.write(program, "#!/bin/sh\n"+answer+"\n")
			if err := os.Chmod(program, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, program+".mjs")
		r.write(program+".mjs", strings.ReplaceAll(plugin, world.weir, program))
	}
	if out, err := r.command("node", args...); err != nil || out != want {
		t.Errorf("%s, %v", out, err)
	}
}
