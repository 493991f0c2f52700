package vault

import (
	"encoding/json"
	"math"
	"slices"
)

// An account remembers the answers to looks at the values of a space.
type account struct {
	bits    int
	numbers []string // that were told, and choices, as they are remembered
	full    bool     // there were more
}

// maxNumbers is how many answers an account remembers. With more, any may have been told.
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

// Told notes the answer to a look at a value of a space that is a number or a choice.
func (v *Vault) Told(key Space, answer json.RawMessage) {
	digits := remembered(answer)
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

// Quiet reports whether no look at any value has told a number or a choice, and no owner has too many spaces to know:
// then [Vault.Names] finds nothing.
func (v *Vault) Quiet() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.tells
}

// Names reports whether a text holds a number or a choice that looks have told of the values of a space.
func (v *Vault) Names(key Space, text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch a := v.account(key, false); {
	case text == "":
		return false
	case a == nil || a.full:
		return true
	default:
		return named(a.numbers, text)
	}
}
