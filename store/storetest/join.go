package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

func testJoin(t *testing.T, f *fixture) {
	f.open("s", "")
	f.open("bystander", "")
	now := f.clock.Advance(time.Minute)
	s, rises, err := f.Join(t.Context(), "s", label.Label{Untrusted: true}, noLimits)
	if err != nil {
		t.Fatal(err)
	}
	f.equal("rises", []store.Rise{{Key: "s", After: label.Label{Untrusted: true}}}, rises)
	f.equal("label", label.Label{Untrusted: true}, s.Label)
	f.equal("seen", now, s.Seen)
	f.equal("read", s, f.get("s"))

	f.clock.Advance(time.Minute)
	for _, covered := range []label.Label{{}, {Untrusted: true}} {
		again, rises, err := f.Join(t.Context(), "s", covered, noLimits)
		if err != nil || rises != nil {
			t.Errorf("joining a covered label: got rises %v, error %v", rises, err)
		}
		f.equal("joining a covered label", s, again)
		f.equal("read", s, f.get("s"))
	}

	f.equal("rises", []store.Rise{{
		Key: "s", Before: label.Label{Untrusted: true}, After: label.Label{Untrusted: true, Private: true},
	}}, f.join("s", label.Label{Private: true}))
	f.equal("another session", label.Label{}, f.get("bystander").Label)
}

func testJoinAncestors(t *testing.T, f *fixture) {
	f.open("parent", "grandparent")
	f.open("child", "parent")
	f.open("sibling", "parent")
	f.open("grandchild", "child")
	f.join("parent", uris("a"))
	seen := f.get("grandparent").Seen
	f.clock.Advance(time.Minute)
	f.equal("rises, nearest first", []store.Rise{
		{Key: "child", After: uris("a")},
	}, f.join("child", uris("a")))
	f.equal("rises, nearest first", []store.Rise{
		{Key: "child", Before: uris("a"), After: uris("a", "b")},
		{Key: "parent", Before: uris("a"), After: uris("a", "b")},
		{Key: "grandparent", Before: uris("a"), After: uris("a", "b")},
	}, f.join("child", uris("b")))
	f.equal("the sibling", label.Label{}, f.get("sibling").Label)
	f.equal("the grandchild", label.Label{}, f.get("grandchild").Label)
	f.equal("when the grandparent was seen", true, !f.get("grandparent").Seen.Before(seen))
}

func testJoinBounded(t *testing.T, f *fixture) {
	lim := store.Limits{Attribution: 3, Findings: 2}
	f.open("child", "parent")
	for i := range 10 {
		l := label.Label{Attribution: label.SetOf(fmt.Sprint("u", i)), Findings: label.SetOf(fmt.Sprint("f", i))}
		if _, _, err := f.Join(t.Context(), "child", l, lim); err != nil {
			t.Fatal(err)
		}
	}
	want := label.Label{Attribution: label.SetOf("u0", "u1", "u2", store.More), Findings: label.SetOf("f0", "f1", store.More)}
	f.equal("child", want, f.get("child").Label)
	f.equal("parent", want, f.get("parent").Label)
	_, rises, err := f.Join(t.Context(), "child", uris("u99"), lim)
	if err != nil || rises != nil {
		t.Errorf("beyond the limit: got rises %v, error %v", rises, err)
	}
}

func testLinkBounded(t *testing.T, f *fixture) {
	f.open("child", "")
	f.open("parent", "")
	f.join("child", uris("a", "c"))
	f.join("parent", uris("b", "d"))
	s, _, err := f.Open(t.Context(), ref("child", "parent"), store.Limits{Attribution: 3})
	if err != nil {
		t.Fatal(err)
	}
	f.equal("child", uris("a", "b", "c", store.More), s.Label)
	f.equal("parent", uris("a", "b", "d", store.More), f.get("parent").Label)
}

func testLabels(t *testing.T, f *fixture) {
	for i, l := range []label.Label{
		{Untrusted: true},
		{Private: true},
		{Malicious: true, Findings: label.SetOf("inject: “ignore”", "'; drop table sessions; --")},
		{Sensitivity: label.SetOf(label.User, label.RegulatedBy("GDPR"), label.RegulatedBy("a,b"))},
		{Sources: label.SetOf(label.UntrustedPublic, label.System)},
		{Readers: label.OnlyReaders("alice", "bob")},
		{Readers: label.OnlyReaders()},
		uris("mcp://a/b", "https://example.com/?q=%20&r=\"x\"", ""),
	} {
		key := fmt.Sprint("s", i)
		f.open(key, "")
		f.join(key, l)
		f.equal("label", l, f.get(key).Label)
	}
	f.open("readers", "")
	f.join("readers", label.Label{Readers: label.OnlyReaders("alice", "bob")})
	f.join("readers", label.Label{Readers: label.OnlyReaders("bob", "carol")})
	f.equal("readers that both allow", label.Label{Readers: label.OnlyReaders("bob")}, f.get("readers").Label)
}

func testCount(t *testing.T, f *fixture) {
	f.open("s", "parent")
	for want := int64(1); want <= 3; want++ {
		now := f.clock.Advance(time.Second)
		n, err := f.Count(t.Context(), "s")
		if err != nil || n != want {
			t.Fatalf("got %d, %v, want %d", n, err, want)
		}
		s := f.get("s")
		f.equal("calls", want, s.Calls)
		f.equal("seen", now, s.Seen)
	}
	f.equal("calls of the parent", int64(0), f.get("parent").Calls)
}

func testNotFound(t *testing.T, f *fixture) {
	f.open("s", "")
	for _, key := range []string{"", "S", "s "} {
		f.refused(store.ErrNotFound, func(ctx context.Context) (store.Session, []store.Rise, error) {
			return f.Join(ctx, key, uris("a"), noLimits)
		})
		f.refused(store.ErrNotFound, func(ctx context.Context) (store.Session, []store.Rise, error) {
			s, err := f.Get(ctx, key)
			return s, nil, err
		})
		if n, err := f.Count(t.Context(), key); n != 0 || !errors.Is(err, store.ErrNotFound) {
			t.Errorf("counting a call of session %q: got %d, %v", key, n, err)
		}
	}
}

func testTime(t *testing.T, f *fixture) {
	zone := time.FixedZone("here", 3600)
	f.clock.now = time.Date(2026, 7, 28, 12, 0, 0, 123456789, zone)
	want := time.Date(2026, 7, 28, 11, 0, 0, 123456000, time.UTC)
	s := f.open("s", "")
	for _, s := range []store.Session{s, f.get("s")} {
		if s.Created != want || s.Seen != want {
			t.Errorf("created %v, seen %v, want %v", s.Created, s.Seen, want)
		}
	}
	f.clock.Advance(-time.Hour)
	if _, err := f.Count(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	f.join("s", uris("a"))
	f.equal("seen, when the clock went back", want, f.get("s").Seen)
}

func testContext(t *testing.T, f *fixture) {
	f.open("s", "")
	before := f.get("s")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	errs := map[string]error{}
	_, _, errs["open"] = f.Open(done, ref("new", ""), noLimits)
	_, _, errs["join"] = f.Join(done, "s", uris("a"), noLimits)
	_, errs["count"] = f.Count(done, "s")
	_, errs["get"] = f.Get(done, "s")
	for _, err := range f.List(done, "") {
		errs["list"] = err
	}
	for _, op := range []string{"open", "join", "count", "get", "list"} {
		if !errors.Is(errs[op], context.Canceled) {
			t.Errorf("%s: got error %v", op, errs[op])
		}
	}
	f.equal("sessions afterwards", []store.Session{before}, f.all(""))
}
