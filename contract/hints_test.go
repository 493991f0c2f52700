package contract_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
)

// fieldsOfHints returns the addresses of all hints in a contract.
func fieldsOfHints(v reflect.Value) (all []*contract.Hint) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Type() == reflect.TypeFor[contract.Hint]():
			all = append(all, f.Addr().Interface().(*contract.Hint))
		case f.Kind() == reflect.Struct && f.CanAddr() && v.Type().Field(i).IsExported():
			all = append(all, fieldsOfHints(f)...)
		}
	}
	return all
}

// TestHints holds that the table has each hint of a contract once, and that the operations and the laws go by it.
func TestHints(t *testing.T) {
	var c contract.Contract
	fields := fieldsOfHints(reflect.ValueOf(&c).Elem())
	var names, in []string
	var found []*contract.Hint
	for _, h := range contract.Hints() {
		found = append(found, h.Of(&c))
		names, in = append(names, h.Name), append(in, h.Short)
		if h.Meaning == "" || h.Risky == contract.Unknown {
			t.Errorf("%s: no meaning, or no dangerous claim", h.Name)
		}
		testHint(t, h)
	}
	if len(fields) != len(found) {
		t.Errorf("%d hints in a contract, %d in the table", len(fields), len(found))
	}
	for _, field := range fields {
		if !slices.Contains(found, field) {
			t.Error("a hint of the contract is not in the table")
		}
	}
	for _, all := range [][]string{names, in} {
		slices.Sort(all)
		if len(slices.Compact(all)) != len(found) {
			t.Errorf("a name stands twice: %v", all)
		}
	}
}

// testHint tests the operations on one hint against the words of its row.
func testHint(t *testing.T, h contract.Member) {
	t.Helper()
	safe := contract.Yes
	if h.Risky == contract.Yes {
		safe = contract.No
	}
	with := func(value contract.Hint) (c contract.Contract) {
		*h.Of(&c) = value
		return c
	}
	risk, calm := with(h.Risky), with(safe)
	if reflect.DeepEqual(dangerOf(risk), dangerOf(contract.Contract{})) || reflect.DeepEqual(dangerOf(risk), dangerOf(calm)) {
		t.Errorf("%s: the reference model of the laws does not know the hint", h.Name)
	}
	for name, got := range map[string]contract.Contract{
		"join": contract.Join(risk, calm), "raise": calm.Raise(risk), "over": risk.Over(calm), "beyond": risk.Beyond(calm),
	} {
		if *h.Of(&got) != h.Risky {
			t.Errorf("%s: %s gives %v", h.Name, name, *h.Of(&got))
		}
	}
	if raised := risk.Raise(calm); !raised.Equal(risk) {
		t.Errorf("%s: a safe claim changes the contract that it should raise", h.Name)
	}
	if risk.Equal(calm) || risk.String() == calm.String() || !strings.Contains(risk.String(), h.Short+"="+h.Risky.String()) {
		t.Errorf("%s: neither comparison nor text tells the claims apart", h.Name)
	}
	if worst := contract.Pessimistic(); h.Core != (*h.Of(&worst) == h.Risky) {
		t.Errorf("%s: Pessimistic has %v", h.Name, *h.Of(&worst))
	}
	if v := calm.Narrows(risk); h.Loose != (v == nil) || !h.Loose && !slices.Equal(v, []string{h.Name}) {
		t.Errorf("%s: violations %v", h.Name, v)
	}
}

// TestManualsOfHints holds the manuals of annotations and of overlays to the table.
func TestManualsOfHints(t *testing.T) {
	for file, want := range map[string]func(contract.Member) string{
		"../docs/annotations.md": func(h contract.Member) string { return h.Name },
		"../docs/overlays.md": func(h contract.Member) string {
			if h.Overlay {
				return "`" + h.Short + "`"
			}
			return ""
		},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range contract.Hints() {
			if !strings.Contains(string(text), want(h)) {
				t.Errorf("%s does not have %s", file, want(h))
			}
		}
	}
}
