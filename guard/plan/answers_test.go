package plan_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// A placeholder takes exactly the values that a result tells, as it tells them: no other spelling with another meaning,
// no part of a word, and nothing from below a member that the pointer does not name.
func TestFills(t *testing.T) {
	text := func(s string) string { return `{"content":[{"type":"text","text":` + string(rawjson.Quote(s)) + `}]}` }
	const long = `{"id":1234567890123456789}`
	for _, c := range []struct {
		placeholder, result string
		fills, not          []string
	}{
		{`"type":"number"`, text(long), []string{"1234567890123456789", "1234567890123456789.0"},
			[]string{"1234567890123456800", "1234567890123456700", "1.23456789012345678e18", `"1234567890123456789"`}},
		{`"type":"number","path":"/id"`, text(long), []string{"1234567890123456789"}, []string{"1234567890123456788", `"1234567890123456789"`}},
		{`"type":"integer"`, text("950 each"), []string{"950", `"950"`, "9.5e2"}, []string{`"0950"`, `" 950\n"`, "-950", "95", `"9.5e2"`, "null", "[950]"}},
		{`"type":"number"`, text("A-950 and 1,900,000 IBAN DE99, at 10.5. Or (-7), x=8, 2025-11-30"), []string{"10.5", "-7"},
			[]string{"-950", "950", "900", "1", "99", "8", "2025", "30", "7", "1e400"}},
		{`"type":"number"`, text(`{"99":[1.50,{"a":"2 of 3"}]}`), []string{"1.5", "150e-2", "2", "3"}, []string{"99", "15", "-1.5"}},
		{`"type":"date"`, text("due 2025-11-30."), []string{`"2025-11-30"`},
			[]string{`"2025-11-30T23:59:59+14:00"`, `"2025-11-30 10:00"`, `" 2025-11-30"`, "2025", `"2025-12-01"`}},
		{`"type":"date","path":"/at"`, text(`{"at":"2025-11-30T08:00:00Z"}`), []string{`"2025-11-30"`}, []string{`"2025-11-30T08:00:00Z"`}},
		{`"type":"boolean"`, text("x"), []string{"true", "false"}, []string{`"true"`, "1", "null"}},
		{`"type":"boolean","path":"/ok"`, text(`{"ok":true}`), []string{"true"}, []string{"false", `"true"`}},
		{`"type":"one_of","options":["ann","bob"]`, text("x"), []string{`"ann"`, `"bob"`}, []string{`" ann\n"`, `"eve"`, `"none of them"`, "null"}},
		{`"type":"one_of","options":["ann","bob"],"path":"/to"`, text(`{"to":"ann"}`), []string{`"ann"`}, []string{`"bob"`, `"none of them"`}},
		{`"type":"number","path":"/amount"`, `{"content":[],"structuredContent":{"memo":"{\"amount\":9}"}}`, nil, []string{"9"}},
		{`"type":"number","path":"/memo/amount"`, `{"content":[],"structuredContent":{"memo":"{\"amount\":9}"}}`, []string{"9"}, nil},
		{`"type":"number","path":"/amount"`, `{"content":[],"structuredContent":{"content":"{\"amount\":9}"}}`, []string{"9"}, nil},
	} {
		p, err := plan.Parse(json.RawMessage(`{"goal":"g","steps":[{"id":"s1","tool":"t"},` +
			`{"id":"s2","tool":"t","arguments":{"v":{"from":"s1",` + c.placeholder + `}}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		var a plan.Answers
		at := p.Steps[1].Placeholders()[0].Placeholder
		for _, got := range slices.Concat(c.fills, c.not) {
			if a.Fills(at, plan.Argument{JSON: json.RawMessage(got)}, nil) {
				t.Errorf("%s: %s fills it before there is a result", c.placeholder, got)
			}
		}
		a.Add(p, "s1", json.RawMessage(c.result), "")
		for _, got := range slices.Concat(c.fills, c.not) {
			if want := slices.Contains(c.fills, got); a.Fills(at, plan.Argument{JSON: json.RawMessage(got)}, nil) != want {
				t.Errorf("%s of %s: %s fills it: %v", c.placeholder, c.result, got, !want)
			}
		}
	}
}

// A plan has one spelling, whatever the agent's was: people read it.
func TestParseKeepsOneSpelling(t *testing.T) {
	p, err := plan.Parse(json.RawMessage(`{"goal":"g","steps":[{"id":"s","tool":"t","arguments":{ "b" : "\u0061\u002f",   "a":[ 1 , 2 ]}}]}`))
	if err != nil || string(p.Steps[0].Arguments) != `{"a":[1,2],"b":"a/"}` {
		t.Errorf("%s, %v", p.Steps[0].Arguments, err)
	}
}
