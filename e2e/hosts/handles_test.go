//go:build unix

package hosts

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// handle stands in the arguments of a step for the name of the value that an earlier result tells: {{0}} for the first.
var (
	handle    = regexp.MustCompile(`\{\{([0-9])\}\}`)
	valueName = regexp.MustCompile(`\bvalue (w[0-9]{5})\b`)
)

// named returns the arguments of a step with the names of values.
func (s step) named(results []string) (out map[string]any) {
	raw := handle.ReplaceAllStringFunc(encode(s.Args), func(at string) string {
		n, _ := strconv.Atoi(at[2:3])
		if n < len(results) {
			if found := valueName.FindStringSubmatch(results[n]); found != nil {
				return found[1]
			}
		}
		return at
	})
	_ = json.Unmarshal([]byte(raw), &out)
	return out
}

// TestHandles has a model of each host use results that it is not shown, by handles: as a text, as a number, and as a part. The
// host lets them through its validation of the schemas, and shows the model no byte of a hidden result.
func TestHandles(t *testing.T) {
	for _, h := range []host{claude, codex, gemini, qwen, copilot} {
		t.Run(h.id, func(t *testing.T) {
			r := newRig(t, h)
			numbers, copied := filepath.Join(r.project, "numbers.json"), filepath.Join(r.project, "copied.txt")
			r.write(copied, "HERE")
			r.write(numbers, `{"n":2,"text":"CANARY"}`)
			files := r.servers()[0]
			config := filepath.Join(r.home, "weir.yaml")
			r.write(config, fmt.Sprintf("version: 1\nservers:\n  files:\n    command: %q\n    args: [%q, %q]\n    trust: trusted\n    results: {read_text_file: hide}\n",
				files.command, files.args[0], files.args[1]))
			salaries := filepath.Join(r.project, "salaries.csv")
			r.model.scripts["handles"] = []step{
				{"read_text_file", map[string]any{"path": numbers}},
				{"read_text_file", map[string]any{"path": salaries, "head": "[[{{0}}#/n]]"}},
				{"edit_file", map[string]any{"path": copied, "edits": []any{map[string]any{
					"oldText": "HERE", "newText": "[[{{1}}]] of [[{{0}}#/text]]"}}}},
				{"weir_look", map[string]any{"value": "{{0}}", "path": "/n", "as": "integer", "min": 0, "max": 9}},
			}
			h.prepare(r, []server{{name: "files", command: world.weir, args: []string{"run", "--config", config}, env: map[string]string{
				"HOME": r.home, "XDG_STATE_HOME": filepath.Join(r.home, ".local", "state"),
			}}})
			results, _ := r.play(h, "handles", "")
			if len(results) != 4 || !valueName.MatchString(results[0]) || !strings.Contains(results[3], `"answer":2`) && !strings.Contains(results[3], `answer\":2`) {
				t.Fatalf("%q", results)
			}
			if got, want := r.read(copied), "name,team,salary\n"+secret+" of CANARY"; got != want {
				t.Errorf("the file holds %q, want %q", got, want)
			}
			if said := strings.Join(results, "\n"); strings.Contains(said, "CANARY") || strings.Contains(said, secret) {
				t.Errorf("the model was shown %s", said)
			}
		})
	}
}
