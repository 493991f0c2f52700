package trace

import "github.com/weir-mcp/weir/policy"

// A receiver learns of a call.
type receiver struct {
	key     string
	vouched bool // by the user or the operator
	base    int  // bits that being called tells, beside the arguments
}

// Bits that a call tells its receiver whatever its arguments are: that it comes now, and which of the things is called
// that the receiver could tell apart.
const (
	callBits   = 2  // a person who is written to, or a site
	toolBits   = 8  // a server: one of 128 tools
	choiceBits = 16 // one of the 32,768 resources or tools without arguments
)

// crossingBits is how much a server may learn, by calls of which each tells it next to nothing, in a session that holds
// another one's credentials.
const crossingBits = 64

// elsewhere is the key of all places that neither the user nor the operator vouches for: whoever controls one may
// control them all.
const elsewhere = "elsewhere"

// maxDestinations bounds the destinations of a session, and as many sites, names and receivers. Any further destination
// counts as the first time.
const maxDestinations = 1024

// ledgerKey returns the key of a receiver's amount: amounts told with private data in the session are kept apart.
func ledgerKey(r receiver, private bool) string {
	if private {
		return "private " + r.key
	}
	return r.key
}

// An account holds the amounts that a trace has seen a session tell.
type account struct {
	spent map[string]int // bits, by receiver
	paid  map[string]int // calls that nobody here saw, when a person last accepted one to the receiver
	full  bool           // receivers have shared an account, for lack of room
}

// most returns the largest amount that counts, of the receivers: each has been told the amounts of all accounts, and a
// person's approval clears one of these.
func (s *sessionTrace) most(all []receiver, f *policy.SessionFacts) (total int) {
	for _, r := range all {
		if !f.Label.Private && r.vouched {
			continue // there is nothing that it could learn
		}
		key := ledgerKey(r, f.Label.Private)
		if f.Label.Private && s.missed(f.Calls) > s.told.paid[key] {
			return policy.MostBits
		}
		sum := 0
		for _, a := range s.accounts {
			sum = min(sum+a.spent[a.slot(key, f.Label.Private)], policy.MostBits)
		}
		total = max(total, sum)
	}
	return total
}

// add puts amounts on the accounts of receivers.
func (a *account) add(amounts map[string]int, private bool) {
	if a.spent == nil {
		a.spent = map[string]int{}
	}
	for key, bits := range amounts {
		slot := a.slot(key, private)
		a.full = a.full || slot != key
		a.spent[slot] += bits
	}
}

// sub takes amounts off again. They stay where receivers share an account: it is not known any more which of them are
// there.
func (a *account) sub(amounts map[string]int) {
	if a.full {
		return
	}
	for key, bits := range amounts {
		if left := a.spent[key] - bits; left > 0 {
			a.spent[key] = left
		} else {
			delete(a.spent, key)
		}
	}
}

// slot returns the key under which a receiver's amount is: its own, or, where there is no room for another one, that of
// all the others.
func (a *account) slot(key string, private bool) string {
	if _, ok := a.spent[key]; !ok && len(a.spent) >= maxDestinations {
		return ledgerKey(receiver{key: elsewhere}, private)
	}
	return key
}

// clear begins anew for the receivers: a person has seen the call to them, after so many that are in no account.
func (a *account) clear(all []receiver, private bool, missed int) {
	if a.paid == nil {
		a.paid = map[string]int{}
	}
	for _, r := range all {
		key := ledgerKey(r, private)
		delete(a.spent, key)
		if len(a.paid) < maxDestinations {
			a.paid[key] = max(a.paid[key], missed)
		}
	}
}
