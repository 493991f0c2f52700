package guard_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

const (
	foundKey  = "AKIAQYLPMN5HFIQR7XYA"
	foundIBAN = "DE89 3704 0044 0532 0130 00"
)

// lookUp reads public data of a curated source: its results have no label of their own.
var lookUp = contract.Contract{
	ReadOnly: contract.Yes, OpenWorld: contract.No,
	Sources: contract.Possible(label.System), Returns: contract.Possible[label.Class](),
}

func searching(d guard.Detection) func(*guard.Options) {
	return func(o *guard.Options) { o.Contents.Detection = d }
}

func answerOf(text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, quoted)
}

// last returns the event of the last decision about an answer.
func (r *events) last() *record.Event {
	for i := len(r.all) - 1; i >= 0; i-- {
		if r.all[i].Kind == record.Decision && r.all[i].Phase == "result" {
			return r.all[i]
		}
	}
	return &record.Event{}
}

func TestFindingsRaiseTheLabel(t *testing.T) {
	scanner := detect.New()
	lookup := func() *guard.Call { return call("lookup", lookUp, `{"name":"lookup","arguments":{}}`) }
	for _, c := range []struct {
		name      string
		detection guard.Detection
		answer    string
		want      []label.Class
		recorded  int
	}{
		{"off", guard.Detection{}, answerOf("key " + foundKey), nil, 0},
		{"nothing", guard.Detection{Detector: scanner}, answerOf("nothing here"), nil, 0},
		{"key", guard.Detection{Detector: scanner}, answerOf("a\nkey " + foundKey), []label.Class{label.Credentials}, 1},
		{"encoded", guard.Detection{Detector: scanner}, answerOf(base64.StdEncoding.EncodeToString([]byte("key " + foundKey))), []label.Class{label.Credentials}, 1},
		{"structured", guard.Detection{Detector: scanner}, `{"content":[],"structuredContent":{"k":"` + foundKey + `"}}`, []label.Class{label.Credentials}, 1},
		{"account", guard.Detection{Detector: scanner}, answerOf("to " + foundIBAN), []label.Class{label.Financial}, 1},
		{"both", guard.Detection{Detector: scanner}, answerOf(foundKey + " " + foundIBAN), []label.Class{label.Credentials, label.Financial}, 2},
		{"uncertain", guard.Detection{Detector: scanner}, answerOf("id 4539578763621486"), nil, 1},
		{"notes", guard.Detection{Detector: scanner, Notes: true}, answerOf("key " + foundKey), nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, searching(c.detection))
			o := f.run(t, lookup(), c.answer)
			if !o.Allowed() {
				t.Fatalf("outcome %+v", o)
			}
			want := label.SetOf(c.want...)
			if got := f.label(t); !got.Sensitivity.Equal(want) || got.Private != (want.Len() > 0) || !o.Label.Sensitivity.Equal(want) {
				t.Errorf("the session is %+v, the answer %+v, want %v", got, o.Label, c.want)
			}
			recorded := 0
			if d := f.events.last().Content.Detection; d != nil {
				recorded = len(d.Findings)
				if d.Incomplete != "" {
					t.Errorf("incomplete: %s", d.Incomplete)
				}
			}
			if recorded != c.recorded {
				t.Errorf("%d findings are recorded, want %d", recorded, c.recorded)
			}
		})
	}
}

// A key that a tool of a closed world returns does not leave unasked.
func TestAFoundSecretDoesNotLeaveUnasked(t *testing.T) {
	for _, found := range []bool{false, true} {
		d := guard.Detection{}
		if found {
			d.Detector = detect.New()
		}
		f := newFixture(t, searching(d))
		f.run(t, call("lookup", lookUp, `{"name":"lookup","arguments":{}}`), answerOf("key "+foundKey))
		v := f.g.Before(t.Context(), call("send_email", sendMail, `{"name":"send_email","arguments":{"body":"`+foundKey+`","to":"a@example.com"}}`))
		if held := v.Effect == policy.Ask || v.Effect == policy.Block; found && !held {
			t.Errorf("searched %t: the call is %v by %s", found, v.Effect, v.Rule)
		}
	}
}

// An event ties a finding to its value for whoever has the value, and tells nobody else.
func TestFindingsAreRecorded(t *testing.T) {
	f := newFixture(t, searching(guard.Detection{Detector: detect.New()}))
	answer := answerOf("key " + foundKey + ", account " + foundIBAN)
	f.run(t, call("lookup", lookUp, `{"name":"lookup","arguments":{}}`), answer)
	e := f.events.last()
	if e.Content.Detection == nil || len(e.Content.Detection.Findings) != 2 {
		t.Fatalf("recorded %+v", e.Content.Detection)
	}
	key, account := e.Content.Detection.Findings[0], e.Content.Detection.Findings[1]
	salt, err := hex.DecodeString(e.Content.Salt)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(append(salt, foundKey...))
	if key.Kind != "aws-access-key-id" || key.Class != label.Credentials || key.Confidence != "high" || key.Path != "/content/0/text" ||
		key.Digest != "sha256:"+hex.EncodeToString(sum[:]) || answer[key.Offset:key.Offset+key.Size] != foundKey {
		t.Errorf("the key is recorded as %+v", key)
	}
	if account.Kind != "iban" || account.Digest != "" {
		t.Errorf("the account is recorded as %+v", account)
	}
	for _, e := range f.events.all {
		if line, _ := json.Marshal(e); strings.Contains(string(line), foundKey) || strings.Contains(string(line), foundIBAN) {
			t.Errorf("an event holds a value: %s", line)
		}
	}
}

// broken is a detector with a mistake.
type broken struct{}

func (broken) Scan(text []byte, _ detect.Form, _ []byte) detect.Report {
	_ = text[len(text)]
	return detect.Report{}
}

// down is a detector in a program that does not answer.
type down struct{}

func (down) Scan([]byte, detect.Form, []byte) detect.Report {
	return detect.Report{Failed: "names is down"}
}

// A detector that fails has found nothing: the answer is labelled as without it, and the event says so.
func TestAFailedDetectorIsNoted(t *testing.T) {
	cut := answerOf(strings.Repeat(foundKey+" "+foundIBAN+" ", 100))
	for name, d := range map[string]struct {
		detector guard.Detector
		answer   string
	}{
		"panic": {broken{}, answerOf("key " + foundKey)},
		"down":  {down{}, answerOf("key " + foundKey)},
		"cut":   {detect.New(), cut},
		"large": {detect.New(), answerOf(strings.Repeat("x ", 5<<20))},
	} {
		f := newFixture(t, searching(guard.Detection{Detector: d.detector}))
		plain := newFixture(t, nil)
		o := f.run(t, call("read_file", readSalaries, `{"name":"read_file","arguments":{}}`), d.answer)
		without := plain.run(t, call("read_file", readSalaries, `{"name":"read_file","arguments":{}}`), d.answer)
		if !o.Allowed() || !o.Label.Covers(without.Label) {
			t.Errorf("%s: labelled %+v, without detection %+v", name, o.Label, without.Label)
		}
		if e := f.events.last(); e.Content.Detection == nil || e.Content.Detection.Incomplete == "" || len(e.Content.Detection.Findings) > record.MaxFindings {
			t.Errorf("%s: recorded %+v", name, e.Content.Detection)
		}
	}
}

// Errors enter the context as results do.
func TestErrorsAreSearched(t *testing.T) {
	f := newFixture(t, searching(guard.Detection{Detector: detect.New()}))
	c := call("lookup", lookUp, `{"name":"lookup","arguments":{}}`)
	answer(t, f.g, c, guard.Answer{Error: json.RawMessage(`{"code":-32000,"message":"no access with ` + foundKey + `"}`)})
	if !f.label(t).Sensitivity.Has(label.Credentials) {
		t.Errorf("the session is %+v", f.label(t))
	}
}

// BenchmarkSearch is the cost of a call whose result of some KiB is searched, or is not.
func BenchmarkSearch(b *testing.B) {
	for _, kib := range []int{1, 64} {
		answer := answerOf(strings.Repeat("A line of a file, number 17, with nothing in it.\n", kib*21))
		for name, d := range map[string]guard.Detection{"without": {}, "with": {Detector: detect.New()}} {
			b.Run(fmt.Sprintf("%d KiB %s", kib, name), func(b *testing.B) {
				f := newFixture(b, func(o *guard.Options) { o.Contents.Detection, o.State = d, guard.NewState(nil, record.Discard()) })
				c := call("lookup", lookUp, `{"name":"lookup","arguments":{}}`)
				b.SetBytes(int64(len(answer)))
				b.ReportAllocs()
				for b.Loop() {
					f.run(b, c, answer)
				}
			})
		}
	}
}
