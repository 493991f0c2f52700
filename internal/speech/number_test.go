package speech_test

import (
	"testing"

	"github.com/weir-mcp/weir/internal/speech"
)

// TestNumbers holds which numbers name a thing.
func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		text, argument, number string
		want                   bool
	}{
		{"Comment on issue 77 in nordlicht/checkout that the limit is 1Gi now.", "issue_number", "77", true},
		{"Review PR 57 in acme/widgets", "pullNumber", "57", true},
		{"Review pull request #57", "pullNumber", "57", true},
		{"Close tickets 501, 502 and 7", "ticket_id", "502", true},
		{"Close tickets 501, 502 and 7", "ticket_id", "7", true},
		{"Close ticket no. 7", "ticket_id", "7", false}, // the abbreviation ends a sentence as far as anyone knows
		{"Close ticket number 7", "ticket_id", "7", true},
		{"Fix #42.", "issue_number", "42", true},
		{"Fix acme/widgets #42", "issue_number", "42", true},
		{"Merge !3, MR 4", "merge_request_iid", "4", true},
		{"Issue 77: it is slow", "issue_number", "77", true},
		{"Issue 77:30", "issue_number", "77", false},
		{"The issue, €300", "issue_number", "300", false},
		{"We are #1", "chat_id", "1", false},
		{"Fix issue #42", "pullNumber", "42", false},
		{"Fix issue 42", "pull_number", "42", false},
		{"Reply to the issue in 30 minutes", "issue_number", "30", false},
		{"Answer the issue 3 days from now", "issue_number", "3", false},
		{"Look at the issue. 14 of them are open", "issue_number", "14", false},
		{"The issue and 5 more", "issue_number", "5", false},
		{"The issue costs 300 euros", "issue_number", "300", false},
		{"Issue 1.5", "issue_number", "5", false},
		{"Issue 77", "issue_number", "7", false},
		{"Issue 77-b", "issue_number", "77", false},
		{"At 14:00 issue 5", "issue_number", "14", false},
		{"Issue 5", "id", "5", false},
		{"Set the limit to 300", "ticket_id", "300", false},
		{"Issue five", "issue_number", "five", false},
		{"Issue 5", "number_of_issue_comments", "5", false},
	} {
		if got := speech.NamesNumber(speech.Read(test.text).Wishes, test.argument, test.number); got != test.want {
			t.Errorf("%q names %s %s: %v", test.text, test.argument, test.number, got)
		}
	}
	if speech.NamesNumber(speech.Read("Never touch issue 77").Wishes, "issue_number", "77") {
		t.Error("a prohibition names a thing")
	}
}

// TestKinds holds which word names the kind of a thing.
func TestKinds(t *testing.T) {
	for _, test := range []struct {
		text, kind, name string
		want             bool
	}{
		{"Delete the pod web-1 in prod", "pod", "web-1", true},
		{"Delete the pod web-1", "node", "web-1", false},
		{"Delete the tripod web-1", "pod", "web-1", false},
		{"Delete the pod web-1a", "pod", "web-1", false},
		{"Delete the pod and web-1", "pod", "web-1", false},
		{"Never delete the pod web-1", "pod", "web-1", false},
		{"Delete everything", "Delete", "everything", false},
	} {
		if got := speech.NamesKind(speech.Read(test.text).Wishes, test.kind, test.name); got != test.want {
			t.Errorf("%q names the %s %s: %v", test.text, test.kind, test.name, got)
		}
	}
}
