package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// askPolicy asks before every write and blocks tools that move files.
const askPolicy = `version: 1
default: allow
rules:
  - name: ask-before-writing
    when: call
    if: tool.name == "write_file"
    effect: ask
    message: writing needs a person
  - name: nothing-moves
    when: call
    if: tool.name == "move_file"
    effect: block
    message: files stay where they are
`

var asking = object{"elicitation": object{}}

// TestAsk makes the policy ask, answers as a person would, and checks the files on disk afterwards.
func TestAsk(t *testing.T) {
	needEnabled(t)
	accept, decline, cancel := reply{Action: "accept", Fill: true}, reply{Action: "decline"}, reply{Action: "cancel"}
	for _, c := range []struct {
		name         string
		capabilities object
		answers      []reply
		asked        int
		written      string // content of the file after writing "one", then "two"
	}{
		{"accept both", asking, []reply{accept, accept}, 2, "two"},
		{"accept the first", asking, []reply{accept, decline}, 2, "one"},
		{"accept the second", asking, []reply{decline, accept}, 2, "two"},
		{"decline", asking, []reply{decline, decline}, 2, ""},
		{"cancel", asking, []reply{cancel, cancel}, 2, ""},
		{"cannot be asked", nil, nil, 0, ""},
	} {
		for _, p := range peers {
			for _, transport := range []string{"stdio", "HTTP"} {
				t.Run(strings.Join([]string{c.name, p.name, transport}, "/"), func(t *testing.T) {
					t.Parallel()
					dir := files(t)
					path := filepath.Join(dir, "order.txt")
					server, policy := reference("filesystem", dir), writeFile(t, "ask.yaml", askPolicy)
					var to target
					if transport == "HTTP" {
						to = listen(t, configure(t, map[string]target{"files": server}), "--policy", policy)
					} else {
						to = wrapped(t, server, "--name", "files", "--policy", policy)
					}
					r := drive(t, job{
						SDK: p.sdk, Era: p.era, Transport: to, Capabilities: c.capabilities, Answers: c.answers,
						Steps: []step{
							call("write_file", object{"path": path, "content": "one"}),
							call("write_file", object{"path": path, "content": "two"}),
						},
					})
					checkAsked(t, r, c.asked, path)
					checkAnswers(t, r, c.answers)
					if got := content(t, path); got != c.written {
						t.Errorf("the file holds %q, want %q", got, c.written)
					}
				})
			}
		}
	}
}

// checkAsked wants so many approval requests, each of which names its call.
func checkAsked(t *testing.T, r *report, asked int, mentions string) {
	t.Helper()
	if len(r.Asked) != asked {
		t.Errorf("asked %d times, want %d\n%s", len(r.Asked), asked, r.stderr)
	}
	for _, question := range r.Asked {
		text, _ := question["message"].(string)
		for _, want := range []string{"write_file", "files", mentions, "writing needs a person"} {
			if !strings.Contains(text, want) {
				t.Errorf("the question does not mention %q:\n%s", want, text)
			}
		}
	}
}

// checkAnswers wants each call refused unless its question was accepted.
func checkAnswers(t *testing.T, r *report, answers []reply) {
	t.Helper()
	for i := range r.Steps {
		accepted := i < len(answers) && answers[i].Action == "accept"
		if m := r.answer(t, i); m.refused() == accepted {
			t.Errorf("call %d, accepted %v: %v", i, accepted, m)
		}
	}
}

// content reads a file; one that does not exist is empty.
func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}

// TestBlock has a call blocked in a way that its client understands, and the rest of the session going on.
func TestBlock(t *testing.T) {
	needEnabled(t)
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t)
			from, to := filepath.Join(dir, "notes.txt"), filepath.Join(dir, "moved.txt")
			r := drive(t, job{
				SDK: p.sdk, Era: p.era, Capabilities: asking,
				Transport: wrapped(t, reference("filesystem", dir), "--policy", writeFile(t, "ask.yaml", askPolicy)),
				Steps: []step{
					call("move_file", object{"source": from, "destination": to}),
					call("read_text_file", object{"path": from}),
				},
			})
			if m := r.answer(t, 0); !m.refused() || !strings.Contains(m.text(), "files stay where they are") {
				t.Errorf("move_file: %v", m)
			}
			if m := r.answer(t, 1); m.refused() || !strings.Contains(m.text(), "milk") {
				t.Errorf("read_text_file: %v", m)
			}
			if content(t, to) != "" || content(t, from) == "" || len(r.Asked) > 0 {
				t.Errorf("the file moved, or an approval was requested: %v", r.Asked)
			}
		})
	}
}

// TestBuiltinPolicy runs the story the built-in policy is made for: the result of an untrusted server makes the session
// untrusted, and the next thing that cannot be undone is asked about, though reading goes on freely.
func TestBuiltinPolicy(t *testing.T) {
	needEnabled(t)
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t)
			path := filepath.Join(dir, "notes.txt")
			r := drive(t, job{
				SDK: p.sdk, Era: p.era, Capabilities: asking, Answers: []reply{{Action: "decline"}},
				Transport: wrapped(t, reference("filesystem", dir), "--trust", "known"),
				Steps: []step{
					call("read_text_file", object{"path": path}),
					call("list_directory", object{"path": dir}),
					call("write_file", object{"path": path, "content": "overwritten"}),
					call("read_text_file", object{"path": path}),
				},
			})
			if len(r.Asked) != 1 {
				t.Errorf("asked %d times, want once: %v", len(r.Asked), r.Asked)
			}
			for i, refused := range []bool{false, false, true, false} {
				if m := r.answer(t, i); m.refused() != refused {
					t.Errorf("step %d: refused %v, want %v: %v", i, !refused, refused, m)
				}
			}
			if got := content(t, path); !strings.HasPrefix(got, "milk") {
				t.Errorf("the file holds %q", got)
			}
		})
	}
}

// TestKnownServers runs the built-in policy on servers that the catalogue knows: files are the user's own, and nobody is asked;
// the stored text may be untrusted content, and is not deleted without an approval.
func TestKnownServers(t *testing.T) {
	needEnabled(t)
	dir := files(t)
	path := filepath.Join(dir, "notes.txt")
	milk := object{"name": "milk", "entityType": "food", "observations": []string{"sour"}}
	for _, c := range []struct {
		server  target
		steps   []step
		refused []bool // each of the steps
	}{
		{reference("filesystem", dir), []step{
			call("read_text_file", object{"path": path}),
			call("write_file", object{"path": path, "content": "milk, eggs"}),
		}, []bool{false, false}},
		{reference("memory"), []step{
			call("create_entities", object{"entities": []object{milk}}),
			call("read_graph", object{}),
			call("delete_entities", object{"entityNames": []string{"milk"}}),
			call("open_nodes", object{"names": []string{"milk"}}),
		}, []bool{false, false, true, false}},
	} {
		r := drive(t, job{
			SDK: peers[0].sdk, Era: peers[0].era, Capabilities: asking, Answers: []reply{{Action: "decline"}},
			Transport: wrapped(t, c.server, "--no-catalogue=false"), Steps: c.steps,
		})
		asked := 0
		for i, refused := range c.refused {
			if m := r.answer(t, i); m.refused() != refused {
				t.Errorf("step %d: refused %v, want %v: %v", i, !refused, refused, m)
			}
			if refused {
				asked++
			}
		}
		if len(r.Asked) != asked {
			t.Errorf("asked %d times, want %d: %v", len(r.Asked), asked, r.Asked)
		}
	}
	if got := content(t, path); got != "milk, eggs" {
		t.Errorf("the file holds %q", got)
	}
}

// TestAnswersOfHosts has a server of nobody's trust ask for a form and then for the host's model. The form goes through, and
// makes the session private; so the built-in policy has a person decide about the next call, which is not one that only reads, and
// whether the model's answer may follow.
func TestAnswersOfHosts(t *testing.T) {
	needEnabled(t)
	form, sample := call("trigger-elicitation-request", object{}), call("trigger-sampling-request", object{"prompt": "hello", "maxTokens": 5})
	for _, p := range peers {
		for action, sampled := range map[string]bool{"accept": true, "decline": false} {
			t.Run(p.name+"/"+action, func(t *testing.T) {
				t.Parallel()
				r := drive(t, job{
					SDK: p.sdk, Era: p.era, Transport: wrapped(t, reference("everything"), "--name", "all", "--trust", "known"),
					Capabilities: object{"elicitation": object{}, "sampling": object{}, "roots": object{}},
					Answers:      []reply{{Action: "accept", Fill: true}, {Action: "accept", Fill: true}, {Action: action, Fill: true}},
					Steps:        []step{form, sample},
				})
				if m := r.answer(t, 0); m.refused() {
					t.Errorf("the form: %v", m)
				}
				if m := r.answer(t, 1); strings.Contains(m.text(), "sampled") != sampled || m.refused() == sampled {
					t.Errorf("the model's answer: %v\n%s", m, r.stderr)
				}
				if len(r.Asked) != 3 {
					t.Fatalf("asked %d times: %v\n%s", len(r.Asked), r.Asked, r.stderr)
				}
				if text, _ := r.Asked[2]["message"].(string); !strings.Contains(text, "Let server all have ") {
					t.Errorf("asked %q", text)
				}
			})
		}
	}
}
