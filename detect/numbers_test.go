package detect_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/detect"
)

// cardNumber draws a number as an issuer gives it out, with the digit that checks it.
func cardNumber(t *rapid.T) string {
	digits := "4539" + rapid.StringMatching("[0-9]{11}").Draw(t, "digits")
	sum := 0
	for i, c := range digits {
		n := int(c - '0')
		if i%2 == 0 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return digits + fmt.Sprint((10-sum%10)%10)
}

// TestCardNumbersInURIs finds card numbers behind names of parameters and segments of paths that speak of cards, and
// none behind others: those are ids.
func TestCardNumbersInURIs(t *testing.T) {
	forms := []string{
		"https://pay.example/%s/%s", "https://pay.example/v1/%s/%s/charges?x=1", "data://x/%s/%s.json", "https://pay.example/?a=b&%s=%s&c=d",
		"https://pay.example/#%s=%s", "%s=%s", "%s = %s", `{"uri":"a:\/\/b\/%s\/%s"}`,
	}
	names := map[string]bool{
		"card": true, "cards": true, "cardNumber": true, "card_number": true, "credit-card": true, "payment[card]": true, "CARD": true, "ccnum": true, "PAN": true,
		"user_visa": true, "id": false, "status": false, "discard": false, "wildcards": false, "company": false, "q": false, "orders": false, "carding2": false,
	}
	rapid.Check(t, func(t *rapid.T) {
		number, name, form := cardNumber(t), rapid.SampledFrom(slices.Sorted(maps.Keys(names))).Draw(t, "name"), rapid.SampledFrom(forms).Draw(t, "form")
		if form == "%s = %s" && !names[name] {
			form = "%s=%s" // a number behind a blank stands alone, whatever is before it
		}
		text := fmt.Sprintf(form, name, number)
		kind := detect.Plain
		if strings.HasPrefix(text, "{") {
			kind = detect.JSON
		}
		found := slices.ContainsFunc(detect.New().Scan([]byte(text), kind, nil).Findings, func(f detect.Finding) bool { return f.Kind == "payment-card" })
		if found != (names[name] && !isExample(number)) {
			t.Errorf("in %s a card number was found: %t", text, found)
		}
	})
}

// isExample reports whether a number has one digit so often that it counts as an example.
func isExample(number string) bool {
	for _, c := range "0123456789" {
		if 2*strings.Count(number, string(c)) >= len(number) {
			return true
		}
	}
	return false
}
