package annotation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/label"
)

// refer returns a reference to a record, as its author writes it.
func refer(tb testing.TB, kind, record string) annotation.Evidence {
	tb.Helper()
	digest, err := annotation.Digest(annotation.JCS, []byte(record))
	if err != nil {
		tb.Fatal(err)
	}
	return annotation.Evidence{Type: kind, Digest: digest, Canonicalization: annotation.JCS, Ref: "https://records.example/" + digest}
}

var (
	ofFIDES = label.Label{Untrusted: true, Private: true}
	ofData  = label.Label{Private: true, Sensitivity: label.SetOf(label.Unspecified)}
	noData  = label.Label{Private: true, Sensitivity: label.SetOf(label.Regulated, label.Unspecified)}
)

func TestEvidenceLabel(t *testing.T) {
	for _, c := range []struct {
		kind, record string
		want         label.Label
		bad          bool
	}{
		{annotation.FIDES, `{"integrity":"trusted","confidentiality":"public"}`, label.Label{}, false},
		{annotation.FIDES, `{"integrity":"untrusted","confidentiality":"public"}`, label.Label{Untrusted: true}, false},
		{annotation.FIDES, `{"integrity":"trusted","confidentiality":"private","x":1}`, label.Label{Private: true}, false},
		{annotation.FIDES, `{"integrity":"Trusted","confidentiality":"public"}`, ofFIDES, true},
		{annotation.FIDES, `{"integrity":"trusted"}`, ofFIDES, true},
		{annotation.FIDES, `["trusted","public"]`, ofFIDES, true},
		{annotation.FIDES, `null`, ofFIDES, true},
		{annotation.DataClass, `{"class":"public"}`, label.Label{}, false},
		{annotation.DataClass, `{"class":"internal"}`, label.Label{Private: true}, false},
		{annotation.DataClass, `{"class":"confidential","policyRef":"https://policy.example.com"}`, ofData, false},
		{annotation.DataClass, `{"class":"restricted","regulatory":["hipaa","GDPR"]}`,
			label.Label{Private: true, Sensitivity: label.SetOf(label.RegulatedBy("hipaa"), label.RegulatedBy("GDPR"))}, false},
		{annotation.DataClass, `{"class":"public","labels":["com.example.pii.ssn"]}`, ofData, false},
		{annotation.DataClass, `{"class":"public","labels":[]}`, label.Label{}, false},
		{annotation.DataClass, `{"class":"secret"}`, noData, true},
		{annotation.DataClass, `{"regulatory":["hipaa"]}`, noData, true},
		{annotation.DataClass, `{"class":"public","regulatory":"hipaa"}`, noData, true},
		{annotation.DataClass, `{"class":"public","regulatory":[""]}`, noData, true},
		{annotation.DataClass, `{"class":"public","labels":[1]}`, noData, true},
		{"policy-decision", `{"class":"restricted"}`, label.Label{}, true},
	} {
		got, err := refer(t, c.kind, c.record).Label([]byte(c.record))
		if !got.Equal(c.want) || (err != nil) != c.bad {
			t.Errorf("%s %s: %v, %v; want %v", c.kind, c.record, got, err, c.want)
		}
		worst := map[string]label.Label{annotation.FIDES: ofFIDES, annotation.DataClass: noData}[c.kind]
		if other, err := refer(t, c.kind, `{}`).Label([]byte(c.record)); err == nil || !other.Equal(worst) {
			t.Errorf("%s: the record of another reference is read as %v, %v", c.record, other, err)
		}
	}
}

// Held are records by their references; an empty one cannot be had.
type held map[string]string

func (h held) Holds(e annotation.Evidence) bool { _, ok := h[e.Ref]; return ok }

func (h held) Record(_ context.Context, e annotation.Evidence) ([]byte, error) {
	if h[e.Ref] == "" {
		return nil, errors.New("it cannot be had")
	}
	return []byte(h[e.Ref]), nil
}

// Whatever references say, those to trusted places raise by no less than their records, and all others by nothing.
func TestVouched(t *testing.T) {
	records := []string{
		``, `{}`, `{"integrity":"trusted","confidentiality":"public"}`, `{"integrity":"untrusted","confidentiality":"private"}`,
		`{"class":"public"}`, `{"class":"restricted","regulatory":["HIPAA"]}`, `not JSON`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		all, places := []annotation.Evidence(nil), held{}
		least := label.Label{}
		for range rapid.IntRange(0, 12).Draw(rt, "references") {
			record := rapid.SampledFrom(records).Draw(rt, "record")
			kind := rapid.SampledFrom([]string{annotation.FIDES, annotation.DataClass, "sequence"}).Draw(rt, "type")
			e := annotation.Evidence{Type: kind, Digest: "sha256:" + strings.Repeat("0", 64), Canonicalization: annotation.JCS, Ref: rapid.StringN(8, 8, 8).Draw(rt, "ref")}
			if strings.HasPrefix(record, "{") && rapid.Bool().Draw(rt, "right") {
				e.Digest = refer(t, kind, record).Digest
			}
			if rapid.Bool().Draw(rt, "trusted") && kind != "sequence" {
				places[e.Ref] = record
				one, _ := e.Label([]byte(record))
				least = label.Join(least, one)
			}
			all = append(all, e)
		}
		got, _ := annotation.Words{Records: places}.Vouched(t.Context(), annotation.Claim{Evidence: all})
		if !got.Covers(least) || len(places) == 0 && !got.IsZero() {
			rt.Errorf("%v, want at least %v", got, least)
		}
		if none, defects := (annotation.Words{}).Vouched(t.Context(), annotation.Claim{Evidence: all}); !none.IsZero() || defects != nil {
			rt.Error("references have an effect without records")
		}
	})
	e := refer(t, annotation.FIDES, records[2])
	all, places := make([]annotation.Evidence, 9), held{e.Ref: records[2]}
	for i := range all {
		all[i] = e
	}
	if got, defects := (annotation.Words{Records: places}).Vouched(t.Context(), annotation.Claim{Evidence: all[:8]}); !got.IsZero() || defects != nil {
		t.Errorf("eight records: %v, %v", got, defects)
	}
	if got, defects := (annotation.Words{Records: places}).Vouched(t.Context(), annotation.Claim{Evidence: all}); !got.Equal(ofFIDES) || len(defects) != 1 {
		t.Errorf("nine records: %v, %v", got, defects)
	}
}

// TestBeyond holds that no number of references before one to a trusted place takes its meaning away.
func TestBeyond(t *testing.T) {
	const record = `{"class":"restricted","regulatory":["HIPAA"]}`
	e := refer(t, annotation.DataClass, record)
	want, err := e.Label([]byte(record))
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind, ref string) string {
		return fmt.Sprintf(`{"_meta":{%s:{"evidenceRef":{"type":%q,"digest":%q,"canonicalization":%q,"ref":%q}}}}`, trust, kind, e.Digest, e.Canonicalization, ref)
	}
	for before := range 70 {
		result := `{"content":[` + strings.Repeat(block("sequence", "elsewhere")+",", before) + block(e.Type, e.Ref) + `]}`
		claim, _ := annotation.ReadResult([]byte(result))
		got, _ := annotation.Words{Records: held{e.Ref: record}}.Vouched(t.Context(), claim)
		if !got.Covers(want) && !got.Covers(noData) {
			t.Errorf("after %d references: %v, want at least %v", before, got, want)
		}
		if none, _ := (annotation.Words{}).Vouched(t.Context(), claim); !none.IsZero() {
			t.Errorf("after %d references: %v without records", before, none)
		}
	}
}
