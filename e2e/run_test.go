package e2e

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An entry is one server in a file of the kind that other hosts use.
type entry struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
}

func (to target) entry() entry {
	kind := ""
	switch {
	case to.SSE:
		kind = "sse"
	case to.URL != "":
		kind = "http"
	}
	return entry{Command: to.Command, Args: to.Args, Env: to.Env, Type: kind, URL: to.URL}
}

// configure writes an mcpServers file.
func configure(t *testing.T, servers map[string]target) string {
	t.Helper()
	entries := map[string]entry{}
	for name, to := range servers {
		entries[name] = to.entry()
	}
	data, err := json.Marshal(object{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "mcp.json", string(data))
}

// run is `weir run` on stdio over a configuration.
func run(t *testing.T, config string, flags ...string) target {
	return target{Command: world.weir, Args: append([]string{"run", "--config", config, "--no-catalogue"}, flags...), Env: homeless(t)}
}

// listen starts `weir run` as an HTTP server and returns its endpoint.
func listen(t *testing.T, config string, flags ...string) target {
	port := freePort()
	serve(t, run(t, config, append(flags, "--listen", "127.0.0.1:"+port)...), port)
	return target{URL: "http://127.0.0.1:" + port + "/mcp"}
}

// remote starts a server that speaks HTTP and returns how to reach it.
func remote(t *testing.T, server target, path string) target {
	port := freePort()
	server.Args = append(slices.Clone(server.Args), port)
	server.Env = map[string]string{"PORT": port}
	serve(t, server, port)
	return target{URL: "http://127.0.0.1:" + port + path, SSE: path == "/sse"}
}

// TestListen is the comparison over streamable HTTP on the host's side: every client, every server.
func TestListen(t *testing.T) {
	needEnabled(t)
	for _, s := range subjects(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			steps := s.steps(t)
			for _, p := range peers {
				t.Run(p.name, func(t *testing.T) {
					direct := drive(t, p.direct(t, s, s.start(t)))
					config := configure(t, map[string]target{s.name: s.start(t)})
					through := drive(t, p.job(t, s, listen(t, config, "--policy", openPolicy(t))))
					checkSame(t, licence{untrusted: true, crossing: p.crossing(s)}, steps, direct, through)
					checkLabelled(t, steps, through)
				})
			}
		})
	}
}

// TestUpstreams reaches servers over streamable HTTP and over the older HTTP with SSE.
func TestUpstreams(t *testing.T) {
	needEnabled(t)
	library := node(filepath.Join(world.scripts, "library.mjs"), "http")
	for _, c := range []struct {
		name    string
		subject int // in subjects
		server  target
		path    string
		peer    peer
	}{
		{"streamable HTTP", 2, reference("everything", "streamableHttp"), "/mcp", peers[0]},
		{"streamable HTTP to a new client", 2, reference("everything", "streamableHttp"), "/mcp", peers[2]},
		{"SSE", 2, reference("everything", "sse"), "/sse", peers[0]},
		{"both eras, old client", 3, library, "/mcp", peers[0]},
		{"both eras, new client", 3, library, "/mcp", peers[2]},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := subjects(t)[c.subject]
			s.capabilities = nil // the steps need none
			steps := s.steps(t)
			direct := drive(t, c.peer.direct(t, s, remote(t, c.server, c.path)))
			config := configure(t, map[string]target{s.name: remote(t, c.server, c.path)})
			through := drive(t, c.peer.job(t, s, run(t, config, "--policy", openPolicy(t))))
			checkSame(t, licence{untrusted: true, crossing: c.peer.crossing(s)}, steps, direct, through)
			checkLabelled(t, steps, through)
		})
	}
}

// tools lists the tools of a tools/list answer by name.
func tools(t *testing.T, m message) map[string]object {
	t.Helper()
	all := map[string]object{}
	list, _ := m.Result["tools"].([]any)
	for _, entry := range list {
		tool, _ := entry.(object)
		name, _ := tool["name"].(string)
		if _, twice := all[name]; twice || name == "" {
			t.Errorf("tool %q is offered twice or has no name", name)
		}
		all[name] = tool
	}
	return all
}

// TestMany serves four servers as one, and finds the tools of each as it offers them itself.
func TestMany(t *testing.T) {
	needEnabled(t)
	list := []step{{Method: "tools/list"}}
	servers := map[string]target{}
	want := map[string]object{}
	for _, s := range subjects(t) {
		servers[s.name] = s.start(t)
		direct := drive(t, job{SDK: "v1", Transport: s.start(t), Steps: list})
		maps.Copy(want, tools(t, direct.answer(t, 0)))
	}
	config, policy := configure(t, servers), openPolicy(t)
	for name, to := range map[string]target{
		"stdio": run(t, config, "--policy", policy),
		"HTTP":  listen(t, config, "--policy", policy),
	} {
		for _, p := range peers {
			t.Run(name+"/"+p.name, func(t *testing.T) {
				through := drive(t, job{SDK: p.sdk, Era: p.era, Transport: to, Steps: append(slices.Clone(list),
					call("get-sum", object{"a": 1, "b": 2}),
					call("read_graph", object{}),
					call("find", object{"title": "Emma"}),
				)})
				got := tools(t, through.answer(t, 0))
				l := licence{untrusted: true}
				for name, tool := range want {
					for _, c := range diff([]string{"tools", name}, tool, got[name]) {
						if !l.allows("tools/list", c) {
							t.Errorf("%v", c)
						}
					}
				}
				if len(got) != len(want) {
					t.Errorf("%d tools, want %d", len(got), len(want))
				}
				for i, text := range []string{"The sum of 1 and 2 is 3.", "entities", "Emma: shelf 7"} {
					if m := through.answer(t, i+1); m.refused() || !strings.Contains(m.text(), text) {
						t.Errorf("step %d: %v", i+1, m)
					}
				}
			})
		}
	}
}

// TestCollision gives two servers the same tools: both stay reachable, under names that differ.
func TestCollision(t *testing.T) {
	needEnabled(t)
	left, right := files(t), files(t)
	config := configure(t, map[string]target{"left": reference("filesystem", left), "right": reference("filesystem", right)})
	to := run(t, config, "--policy", openPolicy(t))
	listed := drive(t, job{SDK: "v1", Transport: to, Steps: []step{{Method: "tools/list"}}})
	var names []string
	for name := range tools(t, listed.answer(t, 0)) {
		if strings.Contains(name, "list_allowed_directories") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) != 2 {
		t.Fatalf("tools %q, want one for each server", names)
	}
	r := drive(t, job{SDK: "v1", Transport: to, Steps: []step{call(names[0], object{}), call(names[1], object{})}})
	for i, dir := range []string{left, right} {
		if text := r.answer(t, i).text(); !strings.Contains(text, dir) {
			t.Errorf("%s answered %q, want %s", names[i], text, dir)
		}
	}
}
