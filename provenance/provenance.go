// Package provenance finds out where the values of a call came from.
//
// An [Index] belongs to one agent session. The data that enters the session is added to it ([Index.Add],
// [Index.AddJSON] for data, [Index.AddUser] for the user's own words), and it traces a value back to them:
//
//	x := provenance.New(provenance.Options{})
//	x.AddUser("pay Ada Byron 20 euros")
//	x.AddJSON(provenance.Source{URI: "mcp://bank/history", Kinds: provenance.Untrusted}, result)
//	t := x.Trace("Ada Byron") // t.From == provenance.User, t.Whole
//
// # How values are compared
//
// Data is kept as text. A value and the data are compared character by character after the same normalisation: letters
// and digits only, in lower case; spacing, punctuation, zero-width characters and combining marks are skipped;
// percent, HTML, Unicode and backslash escapes are decoded; full-width letters are plain ones. A token of the data or
// of the value that is base64 or hexadecimal of a text is compared as that text too.
//
// The data has an entry in a table at the beginning of each word, of each eighth character inside a long word, and of
// each ideograph: eight normalised characters from there on, and the word itself if it is shorter. A value is tiled
// from left to right with the longest pieces that begin at such a place. So the cost of a trace depends on the length
// of the value, not on the age of the session.
//
// # Short and common values
//
// By rule, not by luck:
//
//   - A piece counts if it is two words or more with six characters, or one word of eight characters, or of four with a
//     digit in it. A value that is a single shorter word counts as a whole if it has three letters.
//   - A function word of English is no piece of its own. All text between pieces is Novel, function words too.
//   - Of places that begin alike, the oldest and the three newest of each kind are compared. A document that comes
//     again from its source, after less text than it has itself, has the places that it had.
//   - Numbers and texts without a letter count from four digits on.
//
// # The meaning of an answer
//
// A match explains and raises: it says that the value may come from there. A piece is Private if private data holds
// it or a part of it that counts, whichever source it has. Only two kinds may lower anything, [User] and [Trusted],
// and they are given to a piece only if it is the same text byte for byte, and if neither its beginning nor its end
// is inside a longer name, address or number: case, white space and the choice of words carry data. A value that is
// more than one such piece is Novel too, since the agent chose how to put it together. A text of both a trusted and
// an untrusted source has the source that had it first, so that no text becomes trusted by being written somewhere
// and read back. Text without a source is [Novel]. The caller has to take Novel for the worst that the session has
// seen: a model can re-encode anything.
//
// # Memory
//
// An Index holds at most Options.Text bytes of text and a table of at most as much. The oldest text goes first, and a
// table that is full forgets its oldest entries; [Index.Complete] then is false. Forgotten text is Novel when it is
// traced, never trusted; so is the text beyond the first [MaxDocument] bytes of a document. Once untrusted content was
// forgotten, later text of a trusted source may repeat it, and counts as untrusted. The user's words have 64 KiB of
// their own, which data cannot push out.
//
// An Index is not safe for concurrent use; its owner locks.
package provenance

import "strings"

// Kinds is a set of kinds of origin. The zero Kinds is empty.
type Kinds uint8

// The kinds. Data that is not Untrusted is Trusted; either may be Private as well.
const (
	User      Kinds = 1 << iota // the user wrote it
	Trusted                     // it came from a source without untrusted content
	Private                     // it came from data that is not for everyone
	Untrusted                   // anyone could have written it
	Novel                       // nothing that the index knows explains it
)

// names are the names of the kinds, in the order of their bits.
var names = [...]string{"user", "trusted", "private", "untrusted", "novel"}

// Names returns the names of the kinds in the set.
func (k Kinds) Names() []string {
	out := make([]string, 0, len(names))
	for i, name := range names {
		if k&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// String returns the names, separated by commas.
func (k Kinds) String() string { return strings.Join(k.Names(), ", ") }

// Only reports whether the set is not empty and holds nothing but allowed.
func (k Kinds) Only(allowed Kinds) bool { return k != 0 && k&^allowed == 0 }

// Summary returns one word: the kind if there is one, "private" for private data of a trusted source, and "mixed" for
// everything else.
func (k Kinds) Summary() string {
	for i, name := range names {
		if k == 1<<i {
			return name
		}
	}
	if k == Trusted|Private {
		return "private"
	}
	return "mixed"
}

// A Source is where data came from.
type Source struct {
	URI   string // of the result, resource or prompt
	Kinds Kinds  // Trusted or Untrusted, with or without Private
}

// How says how a piece was found.
type How uint8

// The ways, from the closest to the loosest.
const (
	Exact      How = iota // the same bytes
	Normalised            // the same letters and digits
	Decoded               // the same after base64 or hexadecimal
)

// String returns "exact", "normalised" or "decoded".
func (h How) String() string { return [...]string{"exact", "normalised", "decoded"}[min(h, Decoded)] }

// A Match is a piece of a value that stands in a source.
type Match struct {
	Source Source
	Start  int // where the piece begins in the value, in bytes; of a Decoded match, in the decoded text
	End    int
	At     int // where it begins in the source's text, in bytes
	How    How
}

// A Trace says where a value came from.
type Trace struct {
	From    Kinds // of all its pieces; empty only for a value without letters and digits
	Whole   bool  // all of the value is one piece
	Matches []Match

	Bits  int // the information in its choice: see bits.go. A copy of the user's words or of a trusted source's costs little
	Known int // the same, where a copy of untrusted content that is not private costs as little
}

// Options configures an Index.
type Options struct {
	Text int // bytes of text to keep; zero: 16 MiB. The table takes as much again.
}

// MaxMatches is how many matches a Trace has at most; there may be more.
const MaxMatches = 16

// Bounds of an Index that no option changes.
const (
	defaultText = 16 << 20
	leastText   = 4 << 10
	maxUser     = 64 << 10 // bytes of the user's words
	maxValue    = 64 << 10 // bytes of a value that are traced; the rest is Novel
	maxSources  = 1 << 16
	maxBits     = 1 << 30 // of a value that is not looked at as a whole
)

// An Index holds the data that entered one agent session. Make one with [New].
type Index struct {
	data shelf  // text of sources
	user speech // the user's messages
}

// New returns an empty index.
func New(opts Options) *Index {
	if opts.Text == 0 {
		opts.Text = defaultText
	}
	return &Index{data: newShelf(max(opts.Text, leastText))}
}

// userSource is the source of the user's words.
const userSource = "user"

// AddUser adds a message of the user in this session. It reports whether there was room for it.
func (x *Index) AddUser(text string) bool { return x.user.add(text) }

// Add adds a text that came from the source. The kinds User and Novel are not for sources, and are ignored; a source
// that is neither Trusted nor Untrusted is Untrusted.
func (x *Index) Add(s Source, text string) {
	s = sound(s)
	x.data.add(s, text)
	decodings([]byte(text), func(plain []byte) { x.data.add(s, string(plain)) })
}

func sound(s Source) Source {
	if s.Kinds &= Trusted | Private | Untrusted; s.Kinds&Trusted == 0 || s.Kinds&Untrusted != 0 {
		s.Kinds = s.Kinds&^Trusted | Untrusted
	}
	return s
}

// Complete reports whether the index still knows everything that it was told.
func (x *Index) Complete() bool { return !x.data.lost }

// Doubt records that untrusted content may have reached trusted sources without the index: later text of these may
// repeat it, and counts as untrusted from now on.
func (x *Index) Doubt() {
	x.data.untrustedAt, x.data.untrusted, x.data.forgot = 0, true, true
}

// Size returns how many bytes the index takes.
func (x *Index) Size() int { return x.data.size() + x.user.size() }
