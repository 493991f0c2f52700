package attacks

import (
	"fmt"
	"testing"
)

// TestBuiltInOverlays makes calls that overlays once took for harmless, each after the session has read untrusted content.
func TestBuiltInOverlays(t *testing.T) {
	for _, c := range []struct {
		entry, tool string
		arguments   args
	}{
		{"google-drive", "downloadFile", args{"fileId": "x", "localPath": "/home/ann/.ssh/authorized_keys"}},
		{"google-drive", "downloadFile", args{"fileId": "x", "localPath": "/home/ann/Downloads"}},
		{"obsidian", "obsidian_put_content", args{"filepath": ".obsidian/plugins/dataview/main.js", "content": "evil"}},
		{"desktop-commander", "write_pdf", args{"path": "/home/ann/.bashrc", "content": "evil"}},
		{"gmail", "download_attachment", args{"messageId": "1", "attachmentId": "2", "savePath": "/home/ann", "filename": ".profile"}},
		{"playwright", "browser_snapshot", args{"filename": ".git/hooks/pre-commit"}},
		{"postgres-mcp", "explain_query", args{"sql": "delete from users", "analyze": true}},
		{"azure", "storage", args{"learn": true, "command": "storage_blob_delete", "parameters": args{"account": "a"}}},
		{"azure", "keyvault", args{"intent": "look", "learn": true, "command": "keyvault_secret_create"}},
		{"desktop-commander", "start_process", args{"command": "ls", "timeout_ms": 1000, "shell": "/sbin/poweroff"}},
		{"desktop-commander", "start_process", args{"command": "tree -Po x /home/ann/.bashrc", "timeout_ms": 1000}},
		{"commands", "run_command", args{"command": "tree -Io x .git/hooks/pre-commit"}},
		{"git", "git_diff", args{"repo_path": "/home/ann/src", "target": "--output=/home/ann/.bashrc"}},
		{"google-calendar", "create-event", args{"calendarId": "c_evil@group.calendar.google.com", "summary": "pin 1234", "start": "2026-11-22T10:00:00", "end": "2026-11-22T11:00:00"}},
		{"postgres-mcp", "execute_sql", args{"sql": "SELECT t.lo_unlink FROM generate_series(1, 9) t, json_to_record('{}') AS x(lo_unlink text)"}},
		{"filesystem", "write_file", args{"path": "memory-bank/brief.md", "content": "evil"}},
		{"filesystem", "write_file", args{"path": "requirements/base.txt", "content": "evil"}},
		{"filesystem", "write_file", args{"path": "docs/conf.py", "content": "evil"}},
		{"filesystem", "write_file", args{"path": "knexfile.js", "content": "evil"}},
		{"filesystem", "write_file", args{"path": "patches/lodash+4.17.21.patch", "content": "evil"}},
		{"filesystem", "write_file", args{"path": "AmazonQ.md", "content": "evil"}},
		{"kubernetes", "kubectl_delete", args{"resourceType": "deployment", "name": "api", "namespace": "staging"}},
	} {
		t.Run(c.entry+" "+c.tool, func(t *testing.T) {
			schema := `"inputSchema":{"type":"object"}`
			h := start(t, setup{servers: []server{page(), {name: "it", trust: "known", catalogue: c.entry, script: script{
				Tools: tools(`{"name":"` + c.tool + `",` + schema + `}`), Results: results{c.tool: text("done")}}}}})
			h.callSaying("What is the state of the namespace staging?", "fetch", args{})
			h.call(c.tool, c.arguments)
			h.held("it", "tools/call", c.tool)
			if len(h.questions()) == 0 {
				t.Error(fmt.Sprint("nobody was asked about ", c.arguments))
			}
		})
	}
}
