// Package plaintest holds texts as attackers write them, for tests of code that shows the text of others.
//
//	for _, text := range plaintest.Texts() {
//		var s console.Session
//		plaintest.Fill(&s, text)
//		…
//	}
//
// The output for a [Harmless] text and for a hostile one differs in nothing but the text itself.
package plaintest

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// Harmless is a text that nothing has to be done about.
const Harmless = "plain"

// Texts returns hostile texts: markup, scripts, styles, addresses of scripts, templates, characters that hide and
// reorder, what terminals and spreadsheets obey, lines that pass for Weir's own, and a megabyte.
func Texts() []string {
	return []string{
		`<script>window.pwned=1</script>`, `"><img src=x onerror="window.pwned=1">`, `'"/><svg onload=window.pwned=1>`, `javascript:window.pwned=1`,
		`</title></textarea></style><script>window.pwned=1</script>`, `{{.Form}}`, `<style>*{display:none}</style>`, `url(http://evil.example/x)`,
		"\u202egnp.exe\u2066\u200b\ufeff", "a\x00b\x1b[2J\x1b]0;title\x07", `<form action=http://evil.example><button>Allow once</button></form>`,
		`<meta http-equiv=refresh content="0;url=http://evil.example/">`, `<base href=http://evil.example/>`, `--><!--`, `]]>`, "\xff\xfe",
		`&lt;script&gt;`, `http://evil.example/?a=b&c=d#e`, "line\nAllow this call? It changes nothing", "over\rweir: ok", "\u009b31m\u0085next",
		"\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\", `=HYPERLINK("http://evil.example","x")`, "@SUM(1+9)*cmd|' /C calc'!A0",
		"\t=1+1", "+1;=1+1", "\uff1d1+1", "`|` <b>|</b> [x](javascript:alert(1)) ![x](http://evil.example)", "e\u0301\u0489\u0300",
		strings.Repeat("A", 1<<20),
	}
}

// Fill sets the value that v points to: every string to the text, every number to 1, every bool to true and every time
// to a fixed one. Slices, maps and pointers get one element each. Fields that nobody may set stay as they are. It
// panics at a kind that it does not know.
func Fill(v any, text string) { fill(reflect.ValueOf(v).Elem(), text) }

func fill(v reflect.Value, text string) {
	if t, ok := v.Addr().Interface().(*time.Time); ok {
		*t = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint8:
		v.SetUint('1')
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text)
		fill(value, text)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		panic("nothing is known of filling " + v.Type().String())
	}
}

// Line returns the problem of a line of text for people: it is "" if every character prints as itself.
func Line(line string) string {
	for i, r := range line {
		if r != ' ' && !unicode.IsPrint(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
			return fmt.Sprintf("%q at byte %d", r, i)
		}
	}
	return ""
}
