package provenance

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Property: a value that holds a counted piece of private data is private, in any order and beside longer pieces of
// others that hold the same.
func TestPrivateDataStaysPrivate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const secret = "HGK137803 of Ada Lovelace"
		around := rapid.SampledFrom([]string{"", "number ", "the person with the passport "})
		value := around.Draw(t, "before") + secret + rapid.SampledFrom([]string{"", " is due", " and nobody else's"}).Draw(t, "after")
		x := New(Options{})
		at := rapid.IntRange(0, 6).Draw(t, "at")
		for i := range 7 {
			if i == at {
				x.Add(Source{"private", Trusted | Private}, "passport "+secret)
				continue
			}
			kinds := rapid.SampledFrom([]Kinds{Trusted, Untrusted}).Draw(t, "kinds")
			x.Add(Source{"other", kinds}, around.Draw(t, "other")+rapid.SampledFrom([]string{value, secret, strings.ToLower(value)}).Draw(t, "text"))
		}
		if got := x.Trace(value); got.From&Private == 0 {
			t.Fatalf("%q is %v", value, got.From)
		}
	})
}
