package guard

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/overlay/catalogue"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/session"
)

// entries are those of the catalogue that were read.
var entries = map[string]*overlay.Overlay{}

// leaning returns a call of a tool in the catalogue as it is decided on.
func leaning(t testing.TB, entry, tool string, arguments map[string]any) *decisionInput {
	t.Helper()
	o := entries[entry]
	if o == nil {
		var err error
		if o, err = catalogue.Named(entry); err != nil || o == nil {
			t.Fatalf("the entry %s: %v, %v", entry, o, err)
		}
		entries[entry] = o
	}
	args, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		t.Fatal(err)
	}
	ref := session.Ref{Key: "s", Principal: "p"}
	r := newRequest(&Call{Session: ref, Server: entry, Trust: contract.Known, Method: "tools/call", Name: tool, Params: params, Arguments: args,
		Overlay: o.Tool(tool)})
	r.refine(reading{})
	return &decisionInput{request: r, facts: r.facts(policy.OnCall, session.State{}), found: &trace.Finding{}}
}

// mail is a message that holds all that goes.
var mail = map[string]any{"to": []string{"ann@example.org"}, "subject": "Report", "body": "It rains."}

func with(arguments map[string]any, name string, value any) map[string]any {
	more := maps.Clone(arguments)
	more[name] = value
	return more
}

// TestLeansOnState tells messages that hold all that goes from calls by which something else goes, whatever text they
// have beside it.
func TestLeansOnState(t *testing.T) {
	type args = map[string]any
	pull := args{"owner": "o", "repo": "r", "pullNumber": 12}
	ann := []args{{"emailAddress": args{"address": "ann@example.org"}}}
	for _, c := range []struct {
		entry, tool string
		arguments   args
		leans       bool
	}{
		{"gmail", "send_email", mail, false},
		{"gmail", "send_email", with(mail, "htmlBody", "<p>It rains.</p>"), false},
		{"gmail", "send_email", with(mail, "cc", []string{"ben@example.org"}), false},
		{"gmail", "send_email", with(mail, "attachments", []string{"/home/ann/report.txt"}), true},
		{"gmail", "send_email", with(mail, "attachments", []string{"report.txt"}), true},
		{"gmail", "send_email", with(mail, "body", "/home/ann/report.txt"), true},
		{"gmail", "send_email", with(mail, "threadId", "18c2"), true},
		{"gmail", "send_email", with(mail, "more", "18c2"), true},
		{"gmail", "send_email", with(mail, "attachReport", true), true},
		{"gmail", "send_email", with(mail, "includeOriginal", true), true},
		{"slack-reference", "slack_post_message", args{"channel_id": "C12", "text": "It rains."}, false},
		{"slack-reference", "slack_reply_to_thread", args{"channel_id": "C12", "thread_ts": "12.5", "text": "It rains."}, true},
		{"ms-365", "forward-mail-message", args{"messageId": "AAMk", "body": args{"Comment": "fyi", "ToRecipients": ann}}, true},
		{"ms-365", "send-draft-message", args{"messageId": "AAMk"}, true},
		{"github", "merge_pull_request", pull, true},
		{"github", "merge_pull_request", with(pull, "commit_title", "Merge"), true},
		{"github", "create_pull_request", args{"owner": "o", "repo": "r", "title": "t", "body": "b", "head": "feature", "base": "main"}, true},
		{"desktop-commander", "start_process", args{"command": "git push origin main", "timeout_ms": 1000}, true},
		{"desktop-commander", "start_process", args{"command": "scp report.txt ann@host.example.org:"}, true},
		{"google-drive", "uploadFile", args{"localPath": "/home/ann/report.txt", "name": "report.txt", "parentFolderId": "F"}, true},
		{"telegram", "send_file", args{"chat_id": 5, "file_path": "/home/ann/report.txt", "caption": "hi"}, true},
		{"resend", "send-broadcast", args{"broadcastId": "b1"}, true},
		{"git", "git_commit", args{"repo_path": "/home/ann/p", "message": "m"}, true},
	} {
		in := leaning(t, c.entry, c.tool, c.arguments)
		if leansOnState(in) != c.leans {
			t.Errorf("%s %s %s: leans is %v", c.entry, c.tool, in.request.Arguments, !c.leans)
		}
	}
}

// TestNoArgumentEndsLeaning holds for tools of the catalogue that a call which leans on the state of something leans on it
// with one argument more, too, unless it had no text or no place to send one to.
func TestNoArgumentEndsLeaning(t *testing.T) {
	words := strings.Fields("to subject body text message title content comment commit_title attachments file_path path command code ref id " +
		"messageId channel channel_id chat_id owner repo pull_number name description url html query sql caption thread_ts dry_run")
	values := []any{"ann@example.org", "It rains.", "/home/ann/report.txt", "AAMk", "https://example.org/a", 12, true, "", nil,
		[]string{"report.txt"}, map[string]any{"id": "x"}}
	tools := strings.Fields("gmail/send_email gmail/reply_to_email github/merge_pull_request github/add_issue_comment github/create_issue " +
		"slack-reference/slack_post_message ms-365/forward-mail-message desktop-commander/start_process telegram/send_message " +
		"telegram/send_file google-drive/uploadFile")
	rapid.Check(t, func(rt *rapid.T) {
		entry, tool, _ := strings.Cut(rapid.SampledFrom(tools).Draw(rt, "tool"), "/")
		picked := rapid.SliceOfNDistinct(rapid.SampledFrom(words), 1, 6, rapid.ID).Draw(rt, "arguments")
		arguments := map[string]any{}
		for _, name := range picked {
			arguments[name] = rapid.SampledFrom(values).Draw(rt, name)
		}
		whole := leaning(t, entry, tool, arguments)
		if leansOnState(whole) || whole.facts.PlainRead() {
			return
		}
		for _, without := range slices.Sorted(maps.Keys(arguments)) {
			less := maps.Clone(arguments)
			delete(less, without)
			in := leaning(t, entry, tool, less)
			if roles := in.facts.Roles; leansOnState(in) && len(roles.Contents) > 0 && len(roles.Destinations) > 0 {
				rt.Errorf("%s %s %s leans, and not with %s", entry, tool, in.request.Arguments, without)
			}
		}
	})
}
