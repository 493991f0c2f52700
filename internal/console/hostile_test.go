package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/internal/plain/plaintest"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

// poisoned is a source all of whose texts, whatever they are, are one text; but for the words that Weir itself chooses, on which
// the shape of pages depends, and for keys of sessions, which the store bounds.
func poisoned(text string) *fake {
	f := &fake{}
	key := text[:min(len(text), 1000)]
	l := label.Label{Malicious: true, Untrusted: true, Findings: label.SetOf(text), Sensitivity: label.SetOf(label.Class(text)), Attribution: label.SetOf(text)}
	for _, kind := range []record.Kind{record.Decision, record.Label, record.Approval, record.Declassify, record.Defect, record.Kind(text)} {
		var e record.Event
		plaintest.Fill(&e, text)
		e.Kind, e.Session, e.Phase, e.Facts, e.Label = kind, key, "call", nil, &l
		f.add(e)
	}
	f.sessions = make([]console.Session, 1)
	for _, all := range []any{&f.sessions, &f.counts, &f.questions, &f.servers, &f.tools, &f.pins, &f.policies, &f.findings, &f.hidden} {
		plaintest.Fill(all, text)
	}
	s := &f.sessions[0]
	s.Key, s.Parent, s.Label, s.Created, s.Seen = key, key, l, f.events[0].Time, f.events[len(f.events)-1].Time
	f.hidden[0].ID, f.hidden[0].Size = "V", len(text)
	f.questions[0].ID, f.pins[0].Pins[0].ID = "Q", "P" // random, of Weir
	f.findings[0].Session, f.findings[0].Exception, f.findings[0].Refused = key, "", ""
	f.questions[0].Expires, f.pins[0].Pins[0].TooLarge = time.Now().Add(time.Minute), false
	return f
}

// everywhere returns every page, and those that hold the text in their address.
func (s *site) everywhere(text string) []string {
	short := url.QueryEscape(text[:min(len(text), 1024)])
	return append(s.paths(), "/events?text="+short, "/events?subject="+short+"&session="+short+"&kind="+short, "/tools?text="+short, "/tools?server="+short)
}

var (
	tag       = regexp.MustCompile(`<(/?[a-zA-Z!][^\s>/]*)((?:[^>"']|"[^"]*"|'[^']*')*)>`)
	attribute = regexp.MustCompile(`([^\s"'>/=]+)(?:=("[^"]*"|'[^']*'|[^\s"'>]+))?`)
	shaping   = []string{"class", "type", "method", "action", "rel", "src", "role", "id", "name"} // attributes whose values count
	many      = regexp.MustCompile(`^(/?span|/?(ins|del)|span class="line.*"|option.*|label class="box"|/label|input type="checkbox" name="drop".*)$`)
	script    = regexp.MustCompile(`(href|src|action|formaction)="\s*javascript:`)
	wordy     = regexp.MustCompile(`^(value|href|datetime|title|aria-label)$`)
)

// skeleton returns the elements of a page with their attributes, and the values of those that make a difference; but for
// lines and options, of which a text may make others: a label's word that does not read as what it is cannot be chosen.
func skeleton(page string) (out []string) {
	for _, m := range tag.FindAllStringSubmatch(page, -1) {
		words := []string{m[1]}
		for _, a := range attribute.FindAllStringSubmatch(m[2], -1) {
			word := a[1]
			if slices.Contains(shaping, word) {
				word += "=" + a[2]
			} else if wordy.MatchString(word) {
				word += "=…"
			}
			words = append(words, word)
		}
		line := strings.Join(words, " ")
		if many.MatchString(line) {
			continue
		}
		out = append(out, line)
	}
	return out
}

// TestHostileText renders every page with each text in every field. The page has the elements that it has with a harmless text,
// and holds nothing that does not print.
func TestHostileText(t *testing.T) {
	want := map[string][]string{}
	for _, text := range append([]string{plaintest.Harmless}, plaintest.Texts()...) {
		s := serve(t, poisoned(text))
		s.signIn(t)
		for i, path := range append(s.everywhere(text), "/value") {
			at := allPlaces[min(i, len(allPlaces)-1)] + strings.Repeat("+", max(0, i-len(allPlaces)+1))
			var resp *http.Response
			if path == "/value" {
				resp = s.look(t, "V", nil)
			} else {
				resp = s.send(t, http.MethodGet, path, nil, nil)
			}
			page := body(t, resp)
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s of %.40q: %s", at, text, resp.Status)
			}
			if text == plaintest.Harmless {
				want[at] = skeleton(page)
				continue
			}
			whole := at != "/pins" && path != "/value" || len(text) < 32<<10 // else it is too large to accept, or has a next part
			if diff := cmp.Diff(want[at], skeleton(page)); diff != "" && whole {
				t.Errorf("%s of %.40q has other elements (-harmless +hostile):\n%s", at, text, diff)
			}
			if at := strings.IndexFunc(page, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); at >= 0 {
				t.Errorf("%s of %.40q hides something: %q", path, text, page[at:min(len(page), at+20)])
			}
			if script.MatchString(page) || len(page) > 300<<10 {
				t.Errorf("%.60s of %.40q: %d bytes, or a link to a script", path, text, len(page))
			}
		}
	}
}

var allPlaces = append(slices.Clone(allPages), "more")

func TestReportsHoldNoMarkupOfOthers(t *testing.T) {
	var want []string
	for _, text := range append([]string{plaintest.Harmless}, plaintest.Texts()...) {
		f := poisoned(text)
		var b strings.Builder
		r := console.Report{Session: text, Counts: f.counts.Figures, Events: f.events, Findings: f.findings, From: time.Now(), To: time.Now()}
		if err := console.WriteReport(&b, r); err != nil {
			t.Fatal(err)
		}
		if text == plaintest.Harmless {
			want = skeleton(b.String())
			continue
		}
		if diff := cmp.Diff(want, skeleton(b.String())); diff != "" {
			t.Errorf("%.40q has other elements (-harmless +hostile):\n%s", text, diff)
		}
		if strings.ContainsFunc(b.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("%.40q hides something", text)
		}
		if b.Len() > 100<<10 {
			t.Errorf("%.40q has %d bytes", text, b.Len())
		}
	}
}
