//go:build unix

package hosts

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// named returns the members of servers in the form that most hosts share.
func named(servers []server, extra map[string]any) map[string]any {
	list := map[string]any{}
	for _, s := range servers {
		one := map[string]any{"command": s.command, "args": s.args, "env": s.env}
		for name, value := range extra {
			one[name] = value
		}
		list[s.name] = one
	}
	return list
}

// ended returns the id of a conversation whose run said the last word of the model.
func ended(id, out string, err error) (string, error) {
	if err == nil && !strings.Contains(out, final) {
		err = fmt.Errorf("the host ended early: %s", out)
	}
	return id, err
}

// conversation returns the id of the conversation to go on with, or a new one, with the flag for it.
func conversation(resume string) (id string, flags []string) {
	if resume != "" {
		return resume, []string{"--resume", resume}
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	id = fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	return id, []string{"--session-id", id}
}

var gemini = host{id: "gemini", unnamed: true, shell: [2]string{"run_shell_command", "command"}, files: []string{".gemini/settings.json"},
	prepare: func(r *rig, servers []server) {
		r.write(filepath.Join(r.home, ".gemini", "settings.json"), "{\n  // The model is scripted.\n  \"mcpServers\": "+
			encode(named(servers, map[string]any{"trust": true}))+
			",\n  \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}},\n  \"general\": {\"enableAutoUpdate\": false}, \"privacy\": {\"usageStatisticsEnabled\": false}\n}\n")
		r.env = []string{"GEMINI_API_KEY=scripted", "GOOGLE_GEMINI_BASE_URL=" + r.model.URL}
	},
	run: func(r *rig, prompt, resume string) (string, error) {
		id, flags := conversation(resume)
		out, err := r.command(filepath.Join(world.modules, ".bin", "gemini"),
			append(flags, "--skip-trust", "--yolo", "-m", "gemini-2.5-pro", "-p", prompt)...)
		return ended(id, out, err)
	},
}

var qwen = host{id: "qwen", unnamed: true, shell: [2]string{"run_shell_command", "command"}, shellNeeds: map[string]any{"is_background": false}, files: []string{".qwen/settings.json"},
	prepare: func(r *rig, servers []server) {
		r.write(filepath.Join(r.home, ".qwen", "settings.json"), "{\n  // The model is scripted.\n  \"mcpServers\": "+encode(named(servers, nil))+
			",\n  \"security\": {\"auth\": {\"selectedType\": \"openai\"}},\n  \"general\": {\"enableAutoUpdate\": false}, \"privacy\": {\"usageStatisticsEnabled\": false}\n}\n")
		r.env = []string{"OPENAI_API_KEY=scripted", "OPENAI_BASE_URL=" + r.model.URL + "/v1", "OPENAI_MODEL=scripted"}
	},
	run: func(r *rig, prompt, resume string) (string, error) {
		id, flags := conversation(resume)
		out, err := r.command(filepath.Join(world.modules, ".bin", "qwen"), append(flags, "--yolo", "-p", prompt)...)
		return ended(id, out, err)
	},
}

var copilot = host{id: "copilot", shell: [2]string{"bash", "command"}, shellNeeds: map[string]any{"description": "run it"},
	files: []string{".copilot/mcp-config.json", ".copilot/settings.json"},
	prepare: func(r *rig, servers []server) {
		list := named(servers, map[string]any{"type": "local", "tools": []string{"*"}})
		r.write(filepath.Join(r.home, ".copilot", "mcp-config.json"), encode(map[string]any{"mcpServers": list})+"\n")
		r.env = []string{"COPILOT_PROVIDER_BASE_URL=" + r.model.URL + "/v1", "COPILOT_PROVIDER_API_KEY=scripted", "COPILOT_MODEL=gpt-5",
			"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false"}
	},
	run: func(r *rig, prompt, resume string) (string, error) {
		id, flags := conversation(resume)
		out, err := r.command(filepath.Join(world.modules, ".bin", "copilot"), append(flags, "--allow-all-tools", "--allow-all-paths", "-p", prompt)...)
		return ended(id, out, err)
	},
}

var opencode = host{id: "opencode", unnamed: true, shell: [2]string{"bash", "command"}, shellNeeds: map[string]any{"description": "run it"},
	files: []string{".config/opencode/opencode.json", ".config/opencode/plugins/weir.js"},
	prepare: func(r *rig, servers []server) {
		list := map[string]any{}
		for _, s := range servers {
			list[s.name] = map[string]any{"type": "local", "command": append([]string{s.command}, s.args...), "environment": s.env, "enabled": true}
		}
		r.write(filepath.Join(r.home, ".config", "opencode", "opencode.json"),
			"{\n  // The model is scripted.\n  \"autoupdate\": false,\n  \"permission\": \"allow\",\n  \"mcp\": "+encode(list)+
				",\n  \"model\": \"scripted/scripted\",\n  \"provider\": "+encode(map[string]any{"scripted": map[string]any{
				"npm": "@ai-sdk/openai-compatible", "name": "Scripted", "options": map[string]any{"baseURL": r.model.URL + "/v1", "apiKey": "x"},
				"models": map[string]any{"scripted": map[string]any{"name": "Scripted"}}}})+",\n}\n")
		r.env = []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}
	},
	run: func(r *rig, prompt, resume string) (string, error) {
		args := []string{"run", "--format", "json"}
		if resume != "" {
			args = append(args, "--session", resume)
		}
		out, err := r.command(opencodeProgram(r), append(args, prompt)...)
		for line := range strings.Lines(out) {
			var e struct {
				Session string `json:"sessionID"`
			}
			if json.Unmarshal([]byte(line), &e) == nil && e.Session != "" {
				resume = e.Session
			}
		}
		return ended(resume, out, err)
	},
}

// opencodeProgram is the program itself: the package's own way to it is made by a script at its installation.
func opencodeProgram(r *rig) string {
	found, _ := filepath.Glob(filepath.Join(world.modules, "opencode-linux-*-baseline", "bin", "opencode"))
	if len(found) != 1 {
		r.t.Fatalf("programs of opencode: %q", found)
	}
	return found[0]
}

func TestGemini(t *testing.T)   { testHost(t, gemini) }
func TestQwen(t *testing.T)     { testHost(t, qwen) }
func TestCopilot(t *testing.T)  { testHost(t, copilot) }
func TestOpencode(t *testing.T) { testHost(t, opencode) }
