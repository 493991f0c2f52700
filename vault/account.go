package vault

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// An account remembers the answers to looks at the values of a space.
type account struct {
	bits    int
	numbers []string // digits of numbers that were told
	full    bool     // there were more
}

// maxNumbers is how many numbers an account remembers. With more, any number may have been told.
const maxNumbers = 256

// spent is more than looks may ever tell.
const spent = math.MaxInt32

// account returns the account of a space; a new one if there is none and it is to be opened; nil if its owner has too many.
func (v *Vault) account(key Space, open bool) *account {
	if a := v.accounts[key]; a != nil {
		return a
	}
	if v.owned[key.Owner] >= v.limits.Counts {
		return nil
	}
	a := &account{}
	if open {
		v.accounts[key] = a
		v.owned[key.Owner]++
		v.tells = v.tells || v.owned[key.Owner] >= v.limits.Counts
	}
	return a
}

// Looked adds to the bits that looks have told of the values of a space, and returns the sum. A negative number takes bits back of a look
// that did not happen.
func (v *Vault) Looked(key Space, bits int) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	a := v.account(key, bits > 0)
	if a == nil {
		return spent
	}
	a.bits = min(max(a.bits+bits, 0), spent)
	return a.bits
}

// Told notes the answer to a look at a value of a space that is a number.
func (v *Vault) Told(key Space, answer json.RawMessage) {
	text := string(answer)
	if f, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, "eE") {
		text = strconv.FormatFloat(f, 'f', -1, 64)
	}
	digits := digitsOf(text)
	v.mu.Lock()
	defer v.mu.Unlock()
	a := v.account(key, true)
	v.tells = v.tells || digits != ""
	if a == nil || digits == "" || slices.Contains(a.numbers, digits) {
		return
	}
	if a.full = a.full || len(a.numbers) >= maxNumbers; !a.full {
		a.numbers = append(a.numbers, digits)
	}
}

// Quiet reports whether no look at any value has told a number, and no owner has too many spaces to know: then
// [Vault.Names] finds nothing.
func (v *Vault) Quiet() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.tells
}

// Names reports whether a text holds a number that looks have told of the values of a space: among its numbers, or, from four digits on,
// among all its digits, whatever stands between them.
func (v *Vault) Names(key Space, text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := digitsOf(text)
	switch a := v.account(key, false); {
	case all == "":
		return false
	case a == nil || a.full:
		return true
	default:
		runs := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
		return slices.ContainsFunc(a.numbers, func(number string) bool {
			return len(number) >= 4 && strings.Contains(all, number) || slices.Contains(runs, number)
		})
	}
}

// digitsOf returns the digits of a text.
func digitsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}
