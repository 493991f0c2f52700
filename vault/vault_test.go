package vault_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/vault"
)

func text(s string) json.RawMessage {
	raw, _ := json.Marshal(map[string]any{"content": []map[string]string{{"type": "text", "text": s}}})
	return raw
}

// free spends nothing.
func free() error { return nil }

func at(key string) vault.Space { return vault.Space{Key: key} }

func put(t testing.TB, v *vault.Vault, space string, result json.RawMessage) vault.Value {
	t.Helper()
	kept, err := v.Put(t.Context(), at(space), vault.Value{Server: "s", Method: "tools/call", Tool: "t", Result: result, Label: label.Label{Untrusted: true}})
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func looked(t testing.TB, v *vault.Vault, key vault.Space, bits int) int {
	t.Helper()
	if err := v.Spend(t.Context(), key, bits, math.MaxInt); err != nil {
		t.Fatal(err)
	}
	sum, err := v.Looked(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func told(t testing.TB, v *vault.Vault, key vault.Space, answer json.RawMessage) {
	t.Helper()
	if err := v.Told(t.Context(), key, answer); err != nil {
		t.Fatal(err)
	}
}

func names(t testing.TB, v *vault.Vault, key vault.Space, text string) bool {
	t.Helper()
	named, err := v.Names(t.Context(), key, text)
	if err != nil {
		t.Fatal(err)
	}
	return named
}

func TestExpand(t *testing.T) {
	v := vault.New(vault.Limits{})
	doc := put(t, v, "a", text(`{"from":"bob","n":7,"list":[{"x~/y":"z"}],"say":"[[w00000]] \"q\""}`))
	plain := put(t, v, "a", text("two\nlines"))
	both := put(t, v, "a", json.RawMessage(`{"content":[{"type":"text","text":"x"}],"structuredContent":{"k":[1,2]},"_meta":{"m":1}}`))
	wrapped := put(t, v, "a", json.RawMessage(`{"content":[],"structuredContent":{"content":"{\"n\":7,\"in\":\"[{\\\"k\\\":1}]\"}\n"}}`))
	twice := put(t, v, "a", json.RawMessage(`{"content":[],"structuredContent":{"a":"{\"n\":7}","b":"{\"n\":7,\"n\":8}"}}`))
	name := func(s string) string {
		return strings.NewReplacer("DOC", doc.Name, "PLAIN", plain.Name, "BOTH", both.Name, "WRAPPED", wrapped.Name, "TWICE", twice.Name).Replace(s)
	}
	for _, c := range []struct{ arguments, want, err string }{
		{`{"a":"[[DOC#/from]]"}`, `{"a":"bob"}`, ""},
		{`{"a":"[[DOC#/n]]"}`, `{"a":7}`, ""},
		{`{"a":"n=[[DOC#/n]]."}`, `{"a":"n=7."}`, ""},
		{`{"a":["[[DOC#/list/0]]"]}`, `{"a":[{"x~/y":"z"}]}`, ""},
		{`{"a":"[[DOC#/list/0/x~0~1y]]"}`, `{"a":"z"}`, ""},
		{`{"a":"[[DOC#/say]]"}`, `{"a":"[[w00000]] \"q\""}`, ""}, // not expanded again
		{`{"a":"[[PLAIN]]","[[PLAIN]]":1}`, `{"a":"two\nlines","[[PLAIN]]":1}`, ""},
		{`{"a":"[[PLAIN#/x]]"}`, ``, "the pointer selects nothing"},
		{`{"a":"[[BOTH]]","b":"[[BOTH#/k/1]]"}`, `{"a":"x","b":2}`, ""},
		{`{"a":"[[BOTH#/k/01]]"}`, ``, "the pointer selects nothing"},
		{`{"a":"[[WRAPPED#/n]]","b":"[[WRAPPED#/content/n]]"}`, `{"a":7,"b":7}`, ""}, // text that holds JSON
		{`{"a":"[[WRAPPED#/in/0/k]]"}`, `{"a":1}`, ""},
		{`{"a":"[[WRAPPED#/m]]"}`, ``, "the pointer selects nothing"},
		{`{"a":"[[TWICE#/a/n]]"}`, `{"a":7}`, ""},
		{`{"a":"[[TWICE#/n]]"}`, ``, "the pointer selects nothing"},
		{`{"a":"[[TWICE#/b/n]]"}`, ``, "the pointer selects nothing"}, // two readers may take another n
		{`{"a":"\u005b[DOC#/from]]"}`, `{"a":"bob"}`, ""},
		{`{"a":"[[w00000]]"}`, ``, "no such value"},
		{`{"a":"[[w1]] [[x]] [w]"}`, `{"a":"[[w1]] [[x]] [w]"}`, ""},
	} {
		got, used, err := v.Expand(t.Context(), json.RawMessage(name(c.arguments)), free, at("a"))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.arguments, err, c.err)
			}
			continue
		}
		if err != nil || string(got) != name(c.want) {
			t.Errorf("%s: %s (%v), want %s", c.arguments, got, err, c.want)
		}
		for _, u := range used.Uses {
			if !u.Label.Untrusted {
				t.Errorf("%s: a value without its label", c.arguments)
			}
		}
	}
	if _, _, err := v.Expand(t.Context(), json.RawMessage(name(`{"a":"[[DOC]]"}`)), free, at("b")); !errors.Is(err, vault.ErrUnknown) {
		t.Errorf("a value of another space: %v", err)
	}
}

// Whatever text a value holds, a handle for it gives exactly that text, and nothing else in the arguments changes.
func TestExpandGivesTheText(t *testing.T) {
	v := vault.New(vault.Limits{})
	rapid.Check(t, func(rt *rapid.T) {
		said := rapid.OneOf(rapid.String(), rapid.StringMatching(`(\[\[w[0-9]{5}(#/a)?\]\]|["\\{}\[\]]){1,6}`)).Draw(rt, "text")
		around := rapid.StringMatching(`[a-z"\\é ]{1,8}`).Draw(rt, "around")
		kept := put(t, v, "r", text(said))
		in, _ := json.Marshal(map[string]any{"x": around + kept.Handle() + around, "y": around})
		out, used, err := v.Expand(t.Context(), in, free, at("r"))
		var got map[string]string
		if err != nil || json.Unmarshal(out, &got) != nil || got["x"] != around+said+around || got["y"] != around || len(used.Uses) != 1 {
			rt.Fatalf("%s: %s (%v)", in, out, err)
		}
	})
}

func TestLook(t *testing.T) {
	limit := func(f float64) *float64 { return &f }
	doc := json.RawMessage(`{"n":7,"f":1.5,"big":1e400,"on":true,"day":"2025-11-30T10:00:00Z","kind":"b","text":"CANARY","mail":"to a@b.example, a@b.example.","two":"a@b.c d@e.f","site":"see https://x.example/a?b."}`)
	for _, c := range []struct {
		look vault.Look
		want string // "" for no answer
	}{
		{vault.Look{Path: "/n", As: vault.Integer}, "7"},
		{vault.Look{Path: "/n", As: vault.Integer, Min: limit(8), Max: limit(9)}, ""},
		{vault.Look{Path: "/f", As: vault.Integer}, ""},
		{vault.Look{Path: "/f", As: vault.Number}, "1.5"},
		{vault.Look{Path: "/big", As: vault.Number}, ""},
		{vault.Look{Path: "/on", As: vault.Boolean}, "true"},
		{vault.Look{Path: "/n", As: vault.Boolean}, ""},
		{vault.Look{Path: "/day", As: vault.Date}, `"2025-11-30"`},
		{vault.Look{Path: "/text", As: vault.Date}, ""},
		{vault.Look{Path: "/text", As: vault.Number}, ""},
		{vault.Look{Path: "/kind", As: vault.OneOf, Options: []string{"a", "b"}}, `"b"`},
		{vault.Look{Path: "/text", As: vault.OneOf, Options: []string{"a", "b"}}, `"none of them"`},
		{vault.Look{As: vault.OneOf, Options: []string{"a", "b"}}, ""},
		{vault.Look{Path: "/mail", As: vault.Email}, `"a@b.example"`},
		{vault.Look{Path: "/two", As: vault.Email}, ""},
		{vault.Look{Path: "/site", As: vault.URL}, `"https://x.example/a?b"`},
		{vault.Look{Path: "/none", As: vault.Boolean}, ""},
	} {
		if err := c.look.Check(); err != nil {
			t.Fatal(err)
		}
		got, err := c.look.Answer(doc)
		if string(got) != c.want || (err == nil) != (c.want != "") || err != nil && strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%+v: %s (%v), want %s", c.look, got, err, c.want)
		}
	}
	for _, bad := range []vault.Look{
		{As: "string"}, {As: vault.OneOf, Options: []string{"a"}}, {As: vault.Boolean, Options: []string{"a", "b"}},
		{As: vault.Integer, Min: limit(1)}, {As: vault.Integer, Min: limit(2), Max: limit(1)}, {As: vault.Date, Min: limit(1), Max: limit(2)},
	} {
		if bad.Check() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// An author who knows the look and chooses the value tells the agent no more than the bits that count: there are no more answers.
func TestBitsBoundTheAnswers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		look := vault.Look{As: rapid.SampledFrom([]vault.Type{vault.Boolean, vault.Integer, vault.OneOf}).Draw(rt, "as")}
		most := rapid.IntRange(0, 40).Draw(rt, "max")
		switch look.As {
		case vault.Integer:
			low, high := 0.0, float64(most)
			look.Min, look.Max = &low, &high
		case vault.OneOf:
			for i := range most + 2 {
				look.Options = append(look.Options, fmt.Sprint("o", i))
			}
		}
		answers := map[string]bool{}
		for n := -5; n < 60; n++ {
			for _, said := range []string{fmt.Sprint(n), fmt.Sprintf(`"o%d"`, n), `true`, `false`, `"x"`, `{}`, `"0` + fmt.Sprint(n) + `"`, fmt.Sprint(n) + ".5"} {
				got, _ := look.Answer(json.RawMessage(said))
				answers[string(got)] = true
			}
		}
		if len(answers) > 1<<look.Bits() {
			rt.Fatalf("%d answers in %d bits: %v", len(answers), look.Bits(), answers)
		}
	})
}

func TestShapeShowsOnlyDeclaredKeys(t *testing.T) {
	v := vault.Value{Result: json.RawMessage(`{"content":[],"structuredContent":{"from":"CANARY","CANARY":{"CANARY":1},"list":[{"n":1,"CANARY":2},{}]}}`)}
	got := v.Shape(json.RawMessage(`{"properties":{"from":{"type":"string"},"list":{"items":{"properties":{"n":{}}}},"gone":{}}}`))
	want := "an object of 3 members, 1 with names that the tool does not declare\n/from: a text of 6 bytes\n/list: an array of 2\n" +
		"/list/0: an object of 2 members, 1 with names that the tool does not declare\n/list/0/n: a number"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := v.Shape(nil); strings.Contains(got, "CANARY") || strings.Contains(got, "from") {
		t.Error(got)
	}
}

func TestLimits(t *testing.T) {
	v := vault.New(vault.Limits{Value: 2000, Space: 4000, Values: 3, Total: 2000})
	if _, err := v.Put(t.Context(), at("a"), vault.Value{Result: text(strings.Repeat("x", 3000))}); !errors.Is(err, vault.ErrTooLarge) {
		t.Error(err)
	}
	var names []string
	for range 4 {
		names = append(names, put(t, v, "a", text("x")).Name)
	}
	if _, err := v.Get(t.Context(), names[0], at("a")); !errors.Is(err, vault.ErrUnknown) {
		t.Errorf("of 4 values with room for 3, the first: %v", err)
	}
	if _, err := v.Get(t.Context(), names[3], at("a")); err != nil {
		t.Error(err)
	}
	put(t, v, "b", text(strings.Repeat("x", 1000)))
	put(t, v, "c", text(strings.Repeat("x", 1000)))
	if _, err := v.Get(t.Context(), names[3], at("a")); !errors.Is(err, vault.ErrUnknown) {
		t.Errorf("of 3 spaces with too many bytes, the first: %v", err)
	}
}

func TestLookedCounts(t *testing.T) {
	v := vault.New(vault.Limits{})
	for i, c := range []struct{ add, want int }{{5, 5}, {0, 5}, {60, 65}, {-60, 5}} {
		if got := looked(t, v, at("a"), c.add); got != c.want {
			t.Errorf("%d: %d, want %d", i, got, c.want)
		}
	}
}

// Whoever keeps most makes room for others, and no eviction gives back bits that looks have told.
func TestOthersEvictNothing(t *testing.T) {
	v := vault.New(vault.Limits{Total: 10_000})
	mine := vault.Space{Owner: "me", Key: "a"}
	keep := func(key vault.Space) vault.Value {
		kept, err := v.Put(t.Context(), key, vault.Value{Result: text(strings.Repeat("x", 500))})
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	kept := keep(mine)
	looked(t, v, mine, 64)
	for i := range 50 {
		other := vault.Space{Owner: "other", Key: fmt.Sprint(i)}
		keep(other)
		looked(t, v, other, 0)
	}
	if _, err := v.Get(t.Context(), kept.Name, mine); err != nil {
		t.Error(err)
	}
	for i := range 50 {
		keep(vault.Space{Owner: "me", Key: fmt.Sprint(i)})
	}
	if _, err := v.Get(t.Context(), kept.Name, mine); !errors.Is(err, vault.ErrUnknown) {
		t.Errorf("the first of 51 spaces of one's own, with too many bytes: %v", err)
	}
	if got := looked(t, v, mine, 0); got != 64 {
		t.Errorf("after the values are gone, %d bits were told", got)
	}
	if got := looked(t, v, vault.Space{Owner: "third", Key: "new"}, -5); got != 0 {
		t.Errorf("bits are taken back that never counted: %d", got)
	}
}

// A choice that a look told is known again as a whole, and a short one in no longer text.
func TestChoicesAreKnownAgain(t *testing.T) {
	v := vault.New(vault.Limits{})
	at := vault.Space{Owner: "o", Key: "a"}
	for _, said := range []string{`"Luxury Palace"`, `"b"`, `"none of them"`, `""`, `"café \"x\""`} {
		told(t, v, at, json.RawMessage(said))
	}
	for said, want := range map[string]bool{
		"Luxury Palace": true, "luxury palace": true, "the Luxury Palace, Paris": true, `{"hotel":"Luxury Palace"}`: true, "Luxury Palaces": false,
		"Luxury": false, "b": true, `["b"]`: true, "ab": false, "a b c": false, "none of them": false, "": false, `{"to":"café \"x\""}`: true, "7": false,
	} {
		if got := names(t, v, at, said); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
	if v.Quiet() || names(t, v, vault.Space{Owner: "o", Key: "b"}, "Luxury Palace") {
		t.Error("the choice is known elsewhere, or not here")
	}
}

// A number that was told is known again, however a text writes it.
func TestNumbersAreKnownAgain(t *testing.T) {
	v := vault.New(vault.Limits{})
	told(t, v, at("a"), json.RawMessage("9.98877665544e+11"))
	told(t, v, at("a"), json.RawMessage("42"))
	for said, want := range map[string]bool{
		"998877665544": true, "+99 8877-665544": true, "DE00 9988 7766 5544": true, "https://x.example/c/998877665544/post": true,
		"42": true, "pull/42": true,
		"9988776655": false, "142": false, "4 2": false, "carol": false, "": false,
	} {
		if got := names(t, v, at("a"), said); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
	if names(t, v, at("b"), "42") {
		t.Error("a number of another space")
	}
	for i := range 300 {
		told(t, v, at("c"), json.RawMessage(fmt.Sprint(1000+i)))
	}
	if !names(t, v, at("c"), "7") || !names(t, v, at("c"), "x") || names(t, v, at("c"), "") {
		t.Error("with more numbers than are kept, any may have been told")
	}
}

// A vault is quiet only as long as it finds no number in any text of any space.
func TestQuiet(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		v := vault.New(vault.Limits{})
		spaces := rapid.Custom(func(t *rapid.T) vault.Space {
			return vault.Space{Owner: rapid.SampledFrom([]string{"me", "you"}).Draw(t, "owner"), Key: rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "key")}
		})
		for range rapid.IntRange(0, 8).Draw(r, "looks") {
			if rapid.Bool().Draw(r, "counts") {
				looked(t, v, spaces.Draw(r, "space"), rapid.IntRange(-1, 2).Draw(r, "bits"))
			} else {
				told(t, v, spaces.Draw(r, "space"), json.RawMessage(rapid.SampledFrom([]string{`"x"`, "-", "7", "42", "1e400"}).Draw(r, "answer")))
			}
		}
		if space := spaces.Draw(r, "of"); v.Quiet() && names(t, v, space, "7 42 1400") {
			r.Fatalf("a quiet vault finds numbers of %v", space)
		}
	})
}

// Limits of integers are compared as integers, and a call has no more handles than can be expanded soon.
func TestBoundsOfLooksAndHandles(t *testing.T) {
	var look vault.Look
	for said, ok := range map[string]bool{
		`{"as":"integer","min":4611686018427387904,"max":4611686018427387904}`: false, `{"as":"integer","min":0.5,"max":2}`: false,
		`{"as":"integer","min":-9007199254740991,"max":9007199254740991}`: true, `{"as":"number","min":0.5,"max":2}`: true,
	} {
		look = vault.Look{}
		if err := json.Unmarshal([]byte(said), &look); err != nil || (look.Check() == nil) != ok {
			t.Errorf("%s: %v %v", said, look.Check(), err)
		}
	}
	one := 9007199254740991.0
	look = vault.Look{As: vault.Integer, Min: &one, Max: &one}
	if got, err := look.Answer(json.RawMessage("9007199254740992")); err == nil || look.Bits() != 1 {
		t.Errorf("%s in %d bits", got, look.Bits())
	}
	v := vault.New(vault.Limits{})
	kept := put(t, v, "a", text(`{"b":1}`))
	for n, ok := range map[int]bool{256: true, 257: false} {
		if _, _, err := v.Expand(t.Context(), json.RawMessage(`"`+strings.Repeat("[["+kept.Name+"#/b]]", n)+`"`), free, at("a")); (err == nil) != ok {
			t.Errorf("%d handles: %v", n, err)
		}
	}
	for said, want := range map[string]bool{`{"a":["x [[w12345#/b]]"]}`: true, `{"a":"\u005b[w12345]]"}`: true, `{"[[w12345]]":"[[x]]"}`: false} {
		if vault.HasHandles(json.RawMessage(said)) != want {
			t.Error(said)
		}
	}
}

// Texts in texts are read a few levels deep, and each reading counts against the search of one set of arguments.
func TestTextsInTextsAreBounded(t *testing.T) {
	nested := `{"n":7}`
	for range 4 {
		quoted, _ := json.Marshal(nested)
		nested = `{"text":` + string(quoted) + `}`
	}
	v := vault.New(vault.Limits{})
	deep := put(t, v, "a", text(nested))
	if got, err := vault.Select(deep.Document(), "/n"); err != nil || string(got) != "7" {
		t.Errorf("%s: %v", got, err)
	}
	quoted, _ := json.Marshal(nested)
	if got, err := vault.Select(json.RawMessage(`{"text":`+string(quoted)+`}`), "/n"); !errors.Is(err, vault.ErrNotThere) {
		t.Errorf("one level more: %s, %v", got, err)
	}
	long := put(t, v, "a", json.RawMessage(`{"content":[],"structuredContent":{"result":"{\"n\":7,\"pad\":\"`+strings.Repeat("a", 3<<20)+`\"}"}}`))
	one := `"[[` + long.Name + `#/n]]"`
	if _, _, err := v.Expand(t.Context(), json.RawMessage(`[`+one+`]`), free, at("a")); err != nil {
		t.Errorf("one handle: %v", err)
	}
	if _, _, err := v.Expand(t.Context(), json.RawMessage(`[`+strings.Repeat(one+",", 43)+one+`]`), free, at("a")); err == nil {
		t.Error("44 handles into the text of 3 MiB, each searched twice, are within 256 MiB")
	}
}

// A name means one value: it is not given again for long, and none of two spaces that both have it. No other value
// ever has an ID.
func TestNamesAndIDs(t *testing.T) {
	v := vault.New(vault.Limits{Values: 2})
	names, ids := map[string]bool{}, map[string]bool{}
	for i := range 5_000 {
		kept := put(t, v, "a", text("x"))
		if names[kept.Name] || ids[kept.ID] {
			t.Fatalf("value %d has a name or an ID again: %s %s", i, kept.Name, kept.ID)
		}
		names[kept.Name], ids[kept.ID] = true, true
	}
	v = vault.New(vault.Limits{Values: 1000})
	mine := map[string]vault.Value{}
	for range 1000 {
		kept := put(t, v, "below", text("mine"))
		mine[kept.Name] = kept
	}
	both := 0
	for i := range 1000 {
		kept := put(t, v, "above", text("theirs"))
		other, ok := mine[kept.Name]
		if !ok && i%20 > 0 {
			continue
		}
		if got, err := v.Get(t.Context(), kept.Name, at("below"), at("above")); ok != errors.Is(err, vault.ErrUnknown) || !ok && got.ID != kept.ID {
			t.Fatalf("%s is %s, %v", kept.Name, got.ID, err)
		}
		if !ok {
			continue
		}
		both++
		if got, err := v.Find(t.Context(), other.ID, at("below"), at("above")); err != nil || got.Text() != "mine" {
			t.Errorf("%s, %v", got.Text(), err)
		}
		if got, err := v.Find(t.Context(), kept.ID, at("above"), at("above")); err != nil || got.Text() != "theirs" {
			t.Errorf("%s, %v", got.Text(), err)
		}
	}
	if both == 0 {
		t.Error("no name is in both spaces")
	}
}

// The places of an expansion are those where the document holds the values, and each says whether it holds anything
// else.
func TestPlaces(t *testing.T) {
	v := vault.New(vault.Limits{})
	kept := put(t, v, "a", text(`{"n":7}`))
	in := strings.ReplaceAll(`{"a":"W","b":{"x~/y":["","W","W#/n"]},"c":"see W","d":"WW"}`, "W#/n", "[["+kept.Name+"#/n]]")
	_, got, err := v.Expand(t.Context(), json.RawMessage(strings.ReplaceAll(in, "W", kept.Handle())), free, at("a"))
	want := []vault.Place{
		{At: "/a", Value: kept.ID, Whole: true}, {At: "/b/x~0~1y/1", Value: kept.ID, Whole: true}, {At: "/b/x~0~1y/2", Value: kept.ID, Whole: true}, {At: "/c", Value: kept.ID, Whole: false}, {At: "/d", Value: kept.ID, Whole: false}, {At: "/d", Value: kept.ID, Whole: false},
	}
	if diff := cmp.Diff(want, got.Places); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// Values that sessions below return push out none of the space's own, nor those of their siblings.
func TestReturnedValuesPushOutNoOthers(t *testing.T) {
	v := vault.New(vault.Limits{Values: 32})
	mine, sibling := put(t, v, "p", text("mine")), vault.Value{Part: json.RawMessage(`1`), From: "i1"}
	sibling, err := v.Put(t.Context(), at("p"), sibling)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := v.Put(t.Context(), at("p"), vault.Value{Part: json.RawMessage(`2`), From: "i2"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, kept := range []vault.Value{mine, sibling} {
		if _, err := v.Get(t.Context(), kept.Name, at("p")); err != nil {
			t.Error(err)
		}
	}
}
