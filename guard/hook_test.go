package guard_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
)

// TestPresume raises the session by the contract of a call, as its admission does when no answer comes, and counts it.
func TestPresume(t *testing.T) {
	for name, declared := range map[string]contract.Contract{"read_salaries": readSalaries, "fetch_page": fetchPage, "send_mail": sendMail} {
		failed, presumed := newFixture(t, nil), newFixture(t, nil)
		v := failed.g.Before(context.Background(), call(name, declared, `{}`))
		if err := v.Admission.Failed(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := presumed.g.Presume(context.Background(), call(name, declared, `{}`)); err != nil {
			t.Fatal(err)
		}
		if got, want := presumed.label(t), failed.label(t); !got.Covers(want) || !want.Covers(got) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestPresumeFailsClosed has an error of the record be one of the call.
func TestPresumeFailsClosed(t *testing.T) {
	f := newFixture(t, nil)
	f.events.failFrom = 1
	if err := f.g.Presume(context.Background(), call("read_salaries", readSalaries, `{}`)); err == nil {
		t.Errorf("nothing is recorded, and the session has %v", f.label(t))
	}
}

// TestObserve raises the session by an answer without an admission, also by one that the agent should not see.
func TestObserve(t *testing.T) {
	for _, malicious := range []bool{true, false} {
		f := newFixture(t, nil)
		result := json.RawMessage(`{"content":[]}`)
		if malicious {
			result = json.RawMessage(`{"content":[],"_meta":{"annotations":{"maliciousActivityHint":true}}}`)
		}
		o := f.g.Observe(context.Background(), call("fetch_page", fetchPage, `{}`), guard.Answer{Result: result})
		if o.Err != nil || o.Allowed() == malicious {
			t.Fatalf("%+v", o)
		}
		if l := f.label(t); !l.Covers(o.Label) || malicious && !l.Malicious {
			t.Errorf("%v, and the answer has %v", l, o.Label)
		}
	}
}
