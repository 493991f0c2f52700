package provenance_test

import (
	"math"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/provenance"
)

// TestKraft holds that bits are lengths of a code: the shares of different values are at most one together, so that no choice of values
// tells more than their bits say. It adds up all texts of up to two signs, and all texts that the user's and a trusted source's words contain.
func TestKraft(t *testing.T) {
	const user, data = "pay Ada Byron 20 euros for the bridge, soon", "Ada; Le Marais Boutique, Good Night 75001 Paris."
	x := provenance.New(provenance.Options{})
	x.AddUser(user)
	x.Add(listing, data)
	values := map[string]bool{"": true}
	for a := range 128 {
		values[string(rune(a))] = true
		for b := range 128 {
			values[string([]byte{byte(a), byte(b)})] = true
		}
	}
	for _, text := range []string{user, data} {
		for i := range text {
			for j := i + 1; j <= len(text); j++ {
				values[text[i:j]], values[text[i:j]+" "], values[" "+text[i:j]] = true, true, true
				values[text[i:j]+"."], values[upper(text[i:j])], values[upper(text[i:j])+"."] = true, true, true
			}
		}
	}
	hidden, known := 0.0, 0.0
	for value := range values {
		got := x.Trace(value)
		if value != "" && (got.Bits <= 0 || got.Known > got.Bits) {
			t.Fatalf("%q has %d bits, and %d for a receiver who knows the untrusted content", value, got.Bits, got.Known)
		}
		hidden += math.Pow(2, -float64(max(got.Bits, 1)))
		known += math.Pow(2, -float64(max(got.Known, 1)))
	}
	if hidden > 1 || known > 1 {
		t.Errorf("the shares are %v and %v", hidden, known)
	}
}

// upper returns a text with a capital at its beginning.
func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// TestBits holds the costs of copies and letters.
func TestBits(t *testing.T) {
	x := index()
	for _, c := range []struct {
		value       string
		least, most int
	}{
		{"janeLong@google.com", 5, 20}, {"JaneLong@google.com", 100, 200}, {"Le Marais Boutique", 5, 30}, {"le Marais Boutique", 100, 200}, {"HGK137803", 72, 90},
		{"mallory@evil.example", 160, 180}, {"write to janeLong@google.com", 5, 25},
		{"Write to janeLong@google.com.", 5, 30}, {"Write to janeLong@google.com", 5, 30}, {"WRite to janeLong@google.com", 30, 90},
		{"Write to janeLong@google.com..", 30, 90},
		{"write  to janeLong@google.com", 30, 90}, {strings.Repeat("x", 1<<17), 1 << 20, 1 << 30},
	} {
		if got := x.Trace(c.value).Bits; got < c.least || got > c.most {
			t.Errorf("%.40q: %d bits, not from %d to %d", c.value, got, c.least, c.most)
		}
	}
	if got := x.Trace("mallory@evil.example").Known; got > 40 {
		t.Errorf("a copy of untrusted content, to a receiver who knows it: %d bits", got)
	}
}
