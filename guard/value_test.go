package guard

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestHostOf(t *testing.T) {
	for text, want := range map[string]string{
		"https://Shop.Example:8080/x": "shop.example", "https://acme.example@evil.example/": "evil.example", "http://a.example./": "a.example",
		"ben@acme.example": "acme.example", "mailto:ben@acme.example": "acme.example", `"a@b"@evil.example`: "evil.example",
		"www.acme.example/x": "www.acme.example", "acme.example": "acme.example", "Ben": "", "4.5": "", "a b.example": "", "": "",
		"file:///etc/passwd": "", "@acme.example": "", "evil.example/a@acme.example": "evil.example", "evil.example?a@acme.example": "", "mailto:a?to=b@acme.example": "",
		`https:\evil.example\@acme.example`: "", "evil.example:80@acme.example": "", "report.pdf": "report.pdf", ".example": "", "-": "",
	} {
		if got := hostOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	text := `Dear Ben, see <https://a.example/x>, mail "eve@evil.example". Pay 25,000 to DE89370400440532013000 (call +49 30 1234567)! v1.2, 2026-11-21.`
	want := []string{"https://a.example/x", "eve@evil.example", "DE89370400440532013000"}
	got := addresses(text)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestVerb(t *testing.T) {
	for name, want := range map[string]string{
		"remove_user": "remov", "updatePassword": "updat", "send-email": "send", "do": "", "": "", "delete": "delet", "x_y": "",
	} {
		if got := verb(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestDraft(t *testing.T) {
	all, cut := scalars([]byte(`{"to":["a"],"replyTo":{"emailAddress":"b"},"body":"text","note":"see https://x.example/","n":7,"none":null}`))
	if cut {
		t.Error("a short call is cut")
	}
	r := draft(all)
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
	if all, cut := scalars([]byte(`{"a":[` + strings.Repeat("1,", 2000) + `1]}`)); !cut || len(all) != maxScalars {
		t.Errorf("%d values, cut %v", len(all), cut)
	}
}
