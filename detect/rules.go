package detect

// A Rule describes one kind of value. The table of rules is data: a rule has a Pattern, or Names and a Pattern of the
// value that is assigned to one of them, or is one of the few that code finds.
type Rule struct {
	Kind       Kind
	Name       string // for people
	Class      Class
	Confidence Confidence // of a match; rules that code finds say it for each match

	// Pattern is a regular expression of sets, literals and alternatives, of which group 1 is the secret, if there is
	// one. It has a literal of three bytes at least, unless the rule has Names. It matches whole words only.
	Pattern string

	// Names are of variables, options and members. Case and the character between words do not matter.
	Names []string

	// Check verifies the structure of a match, such as a checksum. Without it, a match must look random.
	Check func(secret []byte) bool

	Source string // the page that documents the format, or the name

	anchors []string                                                  // in lower case; find looks at their surroundings
	find    func(w *scan, v *view, start, end int) (m match, ok bool) // at an anchor
	shapes  []int
	number  int // in the table of a scanner
}

// Found reports whether code finds the rule's matches, and says for each how certain it is.
func (r Rule) Found() bool { return r.Pattern == "" && len(r.Names) == 0 }

// prefixed returns a rule of a token that its beginning tells from everything else.
func prefixed(kind Kind, name, pattern, source string) Rule {
	return Rule{Kind: kind, Name: name, Pattern: pattern, Source: source, Confidence: High}
}

// checked returns a rule of a token that its structure tells too.
func checked(kind Kind, name, pattern string, check func([]byte) bool, source string) Rule {
	return Rule{Kind: kind, Name: name, Pattern: pattern, Check: check, Source: source, Confidence: High}
}

// saying returns the rule with another confidence.
func (r Rule) saying(c Confidence) Rule {
	r.Confidence = c
	return r
}

// checkedBy returns the rule with a check.
func (r Rule) checkedBy(check func([]byte) bool) Rule {
	r.Check = check
	return r
}

// called returns the rule with the names that its values are assigned to, or stand behind.
func (r Rule) called(names ...string) Rule {
	r.Names = names
	return r
}
