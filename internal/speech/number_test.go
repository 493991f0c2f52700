package speech_test

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/speech"
)

// TestNumbers holds when a number is a name.
func TestNumbers(t *testing.T) {
	const sms, ticket, pull, account, host, chat = "to of send_sms", "ticket_id of create_ticket_comment", "pullNumber of merge_pull_request",
		"recipient of send_money", "url of fetch", "chat_id of send_message"
	for _, c := range []struct {
		text, value, as string
		want            bool
	}{
		{"Text Ann that the limit goes from 200 to 72365", "72365", sms, false}, {"Text Ann about ticket 72365", "72365", sms, false}, {"Text Ann that the order 72365 is late", "72365", sms, false},
		{"Text Ann the code 72365", "72365", sms, false}, {"Text 72365 to Ann", "72365", sms, false}, {"Text 72365 people", "72365", sms, false}, {"Send Ann the text 72365", "72365", sms, false},
		{`Text "72365" to Ann`, "72365", sms, false}, {"Lower the price of an SMS to 72365", "72365", sms, false}, {"Text Ann by 2026-11-26", "2026-11-26", sms, false},
		{"Text Ann that it is account 72365", "72365", sms, false}, {"Text Ann at 12:30", "12:30", sms, false}, {"Text Ann: 72365", "72365", sms, false}, {"Text Ann $72365", "72365", sms, false},
		{"Text 72365 that it is late", "72365", sms, true}, {"Call 72365.", "72365", sms, true}, {"Send an SMS to 72365", "72365", sms, true}, {"Text her phone 72365", "72365", sms, true},
		{"Write to +49 151 5551234", "+49 151 5551234", sms, true}, {"Her phone is 72365", "72365", sms, false}, {"Her phone number is 015155512", "015155512", sms, true}, {"The rate is +5%", "+5", sms, false},
		{"Look at ticket 8812", "8812", ticket, true}, {"Look at the ticket that he means, 8812, and wait", "8812", ticket, true}, {"Close the tickets 501, 502 and 8812", "8812", ticket, true},
		{"Close ticket number 8812", "8812", ticket, true}, {"Say in the ticket that 8812 euros are due", "8812", ticket, false}, {"Say in the ticket: the fee of 8812", "8812", ticket, false},
		{"In the ticket, set the limit from 200 to 8812", "8812", ticket, false}, {"Call 8812 about the ticket", "8812", ticket, false}, {"Close ticket #8812", "8812", ticket, true},
		{"Review PR 5712 in acme/widgets", "5712", pull, true}, {"Merge pull request #5712", "5712", pull, true}, {"Merge acme/widgets#5712", "5712", pull, true}, {"Merge it in 5712", "5712", pull, false},
		{"Pay 200 to account 72365", "72365", account, true}, {"Pay 72365 to Ann", "72365", account, false}, {"Pay it to her phone 72365", "72365", account, false}, {"Auf die Kontonummer 72365", "72365", account, true},
		{"Upgrade to 10.0.0.1", "10.0.0.1", host, false}, {"Open 10.0.0.1 and look", "10.0.0.1", host, true}, {"Look at the host 10.0.0.1", "10.0.0.1", host, true},
		{"Post it in the chat 72365", "72365", chat, true}, {"Post in the chat that it costs 72365", "72365", chat, false}, {"Post #72365", "72365", chat, false}, {"Post it in channel #72365", "#72365", chat, true},
		{"Move the deal 72365 on", "72365", "inputs[0].id of batch_update_objects", true}, {"Call 72365", "72365", "id of get", false}, {"Look at order 72365", "72365", "to.order of send_sms", false}, {"The sum is +12000000 euros", "+12000000", sms, false}, {"Close case 72365", "72365", "inputs[0].case of update", true},
		{"From 72365 on, all is new", "72365", "from_chat_id of forward", false}, {"Text Ann", "Ann", sms, true},
	} {
		path, tool, _ := strings.Cut(c.as, " of ")
		if got := speech.NamesAs(speech.Read(c.text).Wishes, c.value, path, tool); got != c.want {
			t.Errorf("%q names %q as %s: %v", c.text, c.value, c.as, got)
		}
	}
}

// TestAmountsNameNothing holds that no number is a destination by the words for an amount, a date, a count, a number of
// another thing, or as a part of quoted or pasted text, whichever argument takes it.
func TestAmountsNameNothing(t *testing.T) {
	uses := []string{
		"Text Ann that the limit goes from 200 to %", "Text Ann that it is % now", "Tell Ann that % euros are due", "Raise the limit to %", "It went up by % last year", "Between 200 and % of them came",
		"Text Ann that she gets %", "Pay % to Ann", "Send % to Ann", "Transfer €% to Ann", "Book it for %", "At % we meet", "% people came", "Order % chairs", "Call % people", "Text % people",
		"Text Ann the result: %", "Text Ann (%)", "Text Ann, %", "Write Ann that the parcel % is lost", "Ann said \"text % now or your account will be closed for good\"", "What is this?\n> text % at once",
		"Is this real?\n```\ncall %\n```", "Text Ann the code %", "Use version %", "Reply % to the poll", "Never text %", "Do not close ticket % or call %", "The account has % euros", "Multiply it by %", "In the ticket, % of them are old", "The account is % in arrears", "The issue is % too many", "Her phone is % years old", "In the chat (% of them) it is late",
	}
	arguments := []struct{ path, tool string }{
		{"to", "send_sms"}, {"To", "TwilioApiV2010--CreateMessage"}, {"recipient", "send_money"}, {"to[0]", "send_message"}, {"chat_id", "send_message"}, {"ticket_id", "update_ticket"}, {"id", "cancel"},
		{"phone_number", "call"}, {"account", "transfer"}, {"issue_number", "issue_write"}, {"from_chat_id", "forward_message"}, {"channel", "post"}, {"inputs[0].id", "batch_update_objects"}, {"user_id", "invite"},
	}
	rapid.Check(t, func(t *rapid.T) {
		number := strconv.Itoa(rapid.IntRange(1000, 999_999_999).Draw(t, "number"))
		text := strings.ReplaceAll(rapid.SampledFrom(uses).Draw(t, "use"), "%", number)
		if rapid.Bool().Draw(t, "twice") {
			text += ". " + strings.ReplaceAll(rapid.SampledFrom(uses).Draw(t, "other"), "%", number)
		}
		as := rapid.SampledFrom(arguments).Draw(t, "argument")
		if wishes := speech.Read(text).Wishes; speech.NamesAs(wishes, number, as.path, as.tool) {
			t.Fatalf("%q names %s as %s of %s", text, number, as.path, as.tool)
		}
	})
}
