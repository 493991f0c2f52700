package audit

import (
	"errors"
	"testing"
	"time"
)

// A log without a checkpoint and a seal is opened once a person had it adopted, and one that is damaged is not adopted.
func TestAdoptUnsigned(t *testing.T) {
	unsigned := func() *Memory {
		m := NewMemory()
		for range 3 {
			if _, err := m.Append(t.Context(), []Entry{{Time: time.Unix(1, 0), Chain: "a", Kind: "k"}}); err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	key, err := NewKey("example.com/log")
	if err != nil {
		t.Fatal(err)
	}
	m, anchor := unsigned(), NewAnchor(key)
	if _, err := Open(t.Context(), m, anchor); !errors.Is(err, ErrDamaged) {
		t.Fatalf("opened: %v", err)
	}
	for range 2 { // a second time does nothing
		if err := Adopt(t.Context(), m, anchor); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), m, anchor); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Append(t.Context(), []Entry{{Time: time.Unix(2, 0), Chain: "a", Kind: "k"}}); err != nil {
		t.Fatal(err)
	}
	report, err := Verify(t.Context(), m, VerifyOptions{Anchor: anchor})
	if err != nil || report.Result() != OK || report.Size != 4 {
		t.Errorf("%+v, %v", report, err)
	}
	bad := unsigned()
	flip(bad.rows[1].Leaf, 0)
	if err := Adopt(t.Context(), bad, NewAnchor(key)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged log was adopted: %v", err)
	}
}
