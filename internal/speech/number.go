package speech

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/pattern"
)

// NamesAs reports whether one of the texts names the value as a destination of a tool, in the argument at the path. It
// is [Names], except that a number may as well be an amount, a date or the number of something else. So it is a name
// only where the text says so:
//
//   - after a word for that which the argument is the number of: ticket 8812, the tickets 501 and 502, account number
//     72365, PR #57; of tickets and the like also a few words behind: the ticket that he means, 8812
//   - for a telephone after a verb of calling (call 72365, send an SMS to 72365), or with the code of its country
//   - for a host after a verb of visiting: open 10.0.0.1
func NamesAs(texts []string, value, path, tool string) bool {
	if !IsNumber(value) {
		return Names(texts, value)
	}
	n := numbered(path, tool)
	for _, text := range texts {
		for i, j := range occurrences(text, strings.TrimLeft(strings.TrimSpace(value), "#")) {
			if n.named(text, i, j) {
				return true
			}
		}
	}
	return false
}

// IsNumber reports whether a text has digits and no letters.
func IsNumber(text string) bool {
	return strings.ContainsFunc(text, unicode.IsDigit) && !strings.ContainsFunc(text, unicode.IsLetter)
}

// occurrences yields where a value stands in a text and is not a part of something longer.
func occurrences(text, value string) iter.Seq2[int, int] {
	return func(yield func(i, j int) bool) {
		for at := 0; value != ""; {
			i := strings.Index(text[at:], value)
			if i < 0 {
				return
			}
			i += at
			if j := i + len(value); whole(text, i, j) && !yield(i, j) {
				return
			}
			at = i + runeLen(text[i:])
		}
	}
}

// A thing is a kind of things that have numbers.
type thing struct {
	said      func() map[string]bool // the words by which people call it
	arguments func() map[string]bool // words in the names of arguments and tools that want its number
	reaches   bool                   // people say its number a few words behind it
	hashed    bool                   // people write its number with #
}

var (
	phone  = thing{said: phones, arguments: phones}
	money  = thing{said: accounts, arguments: accounts}
	things = []thing{
		phone, money, {said: hosts, arguments: hosts}, {said: persons, arguments: persons},
		{said: rooms, arguments: rooms, reaches: true},
		{said: tickets, arguments: tickets, reaches: true, hashed: true},
		{said: pulls, arguments: pattern.Words("pr pull mr merge"), reaches: true, hashed: true},
		{said: orders, arguments: orders, hashed: true},
		{said: runs, arguments: runs, hashed: true},
	}

	// records are things of any kind, for arguments whose names do not tell it.
	records = thing{said: pattern.Words(`deal deals record records invoice invoices entry entries item items object objects event events
		meeting company lead leads
		product products row rows project page document`)}

	phones = pattern.Words(`phone telephone mobile cell cellphone handy telefon mobil sms whatsapp fax tel téléphone portable teléfono móvil
		cellulare telefono
		msisdn phones mobiles`)
	accounts = pattern.Words("account accounts acct konto konten compte cuenta conto iban payee beneficiary wallet wallets")
	hosts    = pattern.Words("host hosts hostname ip ips address server servers machine site endpoint url uri")
	tickets  = pattern.Words("ticket tickets issue issues bug bugs case cases task tasks story stories vorgang aufgabe demande tarea")
	pulls    = pattern.Words("pr prs mr mrs request requests")
	orders   = pattern.Words("order orders bestellung commande pedido")
	rooms    = pattern.Words("channel channels chat chats room rooms group groups conversation conversations thread threads kanal raum gruppe " +
		"canal groupe grupo")
	persons = pattern.Words("user users customer customers contact contacts member members person requester assignee employee kunde nutzer client")
	runs    = pattern.Words("run runs build builds job jobs pipeline pipelines workflow workflows")
)

// Words of tools and arguments: of any number, and of those that send or pay to a telephone or an account.
var (
	ids       = pattern.Words("id ids uid gid key")
	receivers = pattern.Words("to recipient recipients receiver")
	calling   = pattern.Words("sms text call dial phone fax whatsapp voice")
	paying    = pattern.Words("pay payment transfer transaction bank account wallet remit payout money")
)

// Words beside numbers.
var (
	// fillers stand between a thing and its number, verbs after one of these, and lists between numbers of one kind.
	fillers = pattern.Words("number numbers nr num id ids nummer numéro número numero called named")
	verbs   = pattern.Words("is are ist es è est")
	lists   = pattern.Words("and or und oder et ou y o e")

	// nameless are words in names of arguments after which a number may be anything.
	nameless = pattern.Words("number numero from into onto before after since until with over under than about reply start value recipient receiver")

	// counting are words for things that are verbs too, after which a number may be an amount: order 40 chairs.
	counting = pattern.Words("order orders run runs build builds phone phones contact host")

	// units make the number before them an amount.
	units = pattern.Words(`eur euro euros usd dollar dollars pound pounds gbp chf yen percent prozent pour cent k m mio thousand million billion tausend
		times more less hours minutes days weeks months years`)

	// reaching goes before the number of a telephone, visiting before a host.
	reaching = pattern.Words("text call dial phone ring sms fax whatsapp ruf rufe simse appelle llama chiama")
	visiting = pattern.Words("open visit ping fetch load curl browse")
	sending  = pattern.Words("send write schick schicke sende schreib schreibe envoie envía invia")
	messages = pattern.Words("sms text message fax whatsapp nachricht")
	towards  = pattern.Words("to an à a")
	opening  = pattern.Words("a an the this that my our new eine ein die der una un une with of as")

	// following are words that begin something else after such a number, and are no noun that it counts.
	following = pattern.Words("that about when if whether now today tomorrow please saying asking once before after dass wenn que si")
)

// A numbering is the numbers that an argument wants.
type numbering struct {
	path   map[string]bool // the words of the argument
	things []thing
	phone  bool
	host   bool
}

// numbered returns the numbers that the argument at a path wants. Names of members inside of one that says enough by
// its own name are the caller's choice and do not count.
func numbered(path, tool string) (n numbering) {
	top, inside, _ := strings.Cut(path, ".")
	words, deed := NameWords(top), NameWords(tool)
	if !slices.ContainsFunc(words, func(w string) bool {
		return receivers()[w] || slices.ContainsFunc(things, func(t thing) bool { return t.arguments()[w] })
	}) {
		words = append(words, NameWords(inside)...)
	}
	n.path = map[string]bool{}
	for _, w := range words {
		n.path[w] = true
	}
	has := func(of []string, words func() map[string]bool) bool {
		return slices.ContainsFunc(of, func(w string) bool { return words()[w] })
	}
	to := has(words, receivers)
	n.phone = has(words, phones) || to && !has(deed, paying)
	n.host = has(words, hosts)
	for _, t := range things {
		if has(words, t.arguments) || has(deed, t.arguments) && !to {
			n.things = append(n.things, t)
		}
	}
	if n.phone {
		n.things = append(n.things, phone)
	}
	if to && !has(deed, calling) {
		n.things = append(n.things, money)
	}
	if len(n.things) == 0 && has(words, ids) {
		n.things = append(slices.DeleteFunc(slices.Clone(things), func(t thing) bool { return !t.hashed }), records)
	}
	return n
}

// named reports whether the number at text[i:j] is a name where it stands.
func (n *numbering) named(text string, i, j int) bool {
	after := wordsOf(firstClause(text[j:]))
	sign, _ := decode(strings.TrimLeft(text[j:], " \u00a0"))
	if len(after) > 0 && units()[after[0]] || unicode.Is(unicode.Sc, sign) || strings.ContainsRune("%‰°", sign) {
		return false
	}
	if n.phone && isInternational(text[i:j]) {
		return true
	}
	before, mark := cutMarks(text[:i])
	if mark == '#' && slices.ContainsFunc(n.things, func(t thing) bool { return t.hashed }) {
		return true
	}
	ahead := wordsOf(lastSentence(before))
	if len(ahead) == 0 {
		return false
	}
	others := len(after) == 0 || following()[after[0]]
	if mark == 0 && (n.host && visiting()[ahead[len(ahead)-1]] || n.phone && others && telephones(ahead)) {
		return true
	}
	if strings.ContainsRune(",(:", mark) && !IsNumber(ahead[len(ahead)-1]) {
		return !unicode.IsLetter(sign) && !unicode.IsDigit(sign) && n.apart(ahead)
	}
	ahead = cutList(ahead)
	last := len(ahead) - 1
	if last > 0 && verbs()[ahead[last]] && (fillers()[ahead[last-1]] || strings.HasSuffix(ahead[last-1], "nummer")) {
		last--
	}
	for last > 0 && fillers()[ahead[last]] {
		last--
	}
	return n.is(ahead[last]) && (others || !counting()[ahead[last]])
}

// is reports whether a word is one for things whose numbers the argument wants: in its name, or another word for them.
func (n *numbering) is(word string) bool {
	word = strings.TrimSuffix(word, "nummer")
	if one := strings.TrimSuffix(word, "s"); len(one) > 3 && n.path[one] && !nameless()[one] {
		return true
	}
	return slices.ContainsFunc(n.things, func(t thing) bool { return t.said()[word] })
}

// apart reports whether the last word for a thing with numbers, a few words before this one, is one for the things that
// the argument wants.
func (n *numbering) apart(ahead []string) bool {
	const far = 6
	for _, w := range slices.Backward(ahead[max(0, len(ahead)-far):]) {
		if IsNumber(w) {
			return false
		}
		for _, t := range things {
			if t.said()[w] {
				return t.reaches && n.is(w)
			}
		}
	}
	return false
}

// telephones reports whether the words before a number say to telephone it.
func telephones(ahead []string) bool {
	k := len(ahead) - 1
	if reaching()[ahead[k]] {
		return k == 0 || !opening()[ahead[k-1]]
	}
	if k < 2 || !towards()[ahead[k]] || !messages()[ahead[k-1]] {
		return false
	}
	for k -= 2; k > 0 && (opening()[ahead[k]] || messages()[ahead[k]]); k-- {
	}
	return sending()[ahead[k]]
}

// isInternational reports whether a number has the form of a telephone number with the code of its country.
func isInternational(number string) bool {
	const least = 8
	rest, ok := strings.CutPrefix(number, "+")
	digits := strings.NewReplacer(" ", "", "(", "", ")", "", "-", "", "/", "", ".", "").Replace(rest)
	return ok && len(digits) >= least && strings.Trim(digits, "0123456789") == ""
}

// cutMarks cuts the marks before a number: quotation marks and #, up to one that ends the words before (a comma, a
// colon, a parenthesis). It returns the mark farthest from the number, zero if there is none; before any other sign
// there is no text.
func cutMarks(text string) (before string, mark rune) {
	for {
		text = strings.TrimRight(text, " \t\u00a0")
		r, n := utf8.DecodeLastRuneInString(text)
		switch {
		case n == 0 || unicode.IsLetter(r) || unicode.IsDigit(r):
			return text, mark
		case strings.ContainsRune(",(:", r):
			return text[:len(text)-n], r
		case r == '#' || r == '№':
			mark = '#'
		case closing[r] != "":
			mark = r
		default:
			return "", r
		}
		text = text[:len(text)-n]
	}
}

// cutList cuts numbers of the same list from the end of the words before a number.
func cutList(ahead []string) []string {
	for n := len(ahead); n > 1; n = len(ahead) {
		switch {
		case lists()[ahead[n-1]] && IsNumber(ahead[n-2]):
			ahead = ahead[:n-2]
		case IsNumber(ahead[n-1]):
			ahead = ahead[:n-1]
		default:
			return ahead
		}
	}
	return ahead
}

// lastSentence returns the text after the last end of a sentence in it.
func lastSentence(s string) string {
	if at := ends().FindAllStringIndex(s, -1); len(at) > 0 {
		return s[at[len(at)-1][1]:]
	}
	return s
}
