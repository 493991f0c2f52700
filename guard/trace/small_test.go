package trace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/address"
)

func TestSmall(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "true": true, "false": true, "Refund": true, "98.7": true, "-1234.5678": true, "12345678": true,
		"123456789": false, "0789765432": false, "1.2.3.4.5.6": false, "1-2-3-4-5-6": false, "4237-4252": false,
		"2026-11-21": true, "2026-11-21 09:30": true, "2026-11-21T09:30:00Z": true, "2026-11-21T09:30:00.123456789Z": false,
		"2026-99-21": false, "ninechars": false, "東京東京東京東京": true,
	} {
		if got := small(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestDraft(t *testing.T) {
	all, cut := scalars([]byte(`{"to":["a"],"replyTo":{"emailAddress":"b"},"body":"text","note":"see https://x.example/","n":7,"none":null}`), nil)
	if cut {
		t.Error("a short call is cut")
	}
	r := draft(new(address.Memory), all)
	var destinations, contents []string
	for _, a := range r.Destinations {
		destinations = append(destinations, a.Path)
	}
	for _, a := range r.Contents {
		contents = append(contents, a.Path)
	}
	if diff := cmp.Diff([]string{"to[0]", "replyTo.emailAddress"}, destinations); diff != "" || r.Known {
		t.Errorf("known %v, destinations %s", r.Known, diff)
	}
	if diff := cmp.Diff([]string{"body", "note", "n"}, contents); diff != "" {
		t.Error(diff)
	}
	if all, cut := scalars([]byte(`{"a":[`+strings.Repeat("1,", 2000)+`1]}`), nil); !cut || len(all) != maxScalars {
		t.Errorf("%d values, cut %v", len(all), cut)
	}
}
