package provenance

// A speech holds the user's messages. It is short, so every place of every word is kept, and matches in it do not
// depend on how often a word occurs.
type speech struct {
	text   []byte
	form   form
	places map[string][]int32 // where words begin in text
	words  int                // how many do
}

// userBreak separates messages of different times: no value reaches over it.
const userBreak = "\n\x00\n"

// add appends a text, as far as there is room, and reports whether there was.
func (s *speech) add(text string) bool {
	if len(s.text)+len(userBreak)+len(text) > maxUser {
		return false
	}
	if len(s.text) > 0 {
		s.text = append(s.text, userBreak...)
	}
	s.text = append(s.text, text...)
	s.form = normal(s.text)
	s.places, s.words = map[string][]int32{}, 0
	for i := range s.form.norm {
		if s.form.begins[i] {
			word := string(s.form.norm[i:s.form.wordEnd(i)])
			s.places[word] = append(s.places[word], s.form.raw[i])
			s.words++
		}
	}
	return true
}

// bytesOfPlace is the memory of a word with its share of the map, at most.
const bytesOfPlace = 64

func (s *speech) size() int { return cap(s.text) + cap(s.form.norm)*12 + len(s.places)*bytesOfPlace }

// longest returns the longest piece of the value that begins at i and stands in the user's words as it is.
func (s *speech) longest(v *value, i int) (best piece) {
	for _, at := range s.places[string(v.norm[i:v.wordEnd(i)])] {
		if p := v.verbatim(i, s.text, int(at)); p.end > best.end {
			best = p
		}
	}
	best.source, best.kinds, best.loose = Source{URI: userSource, Kinds: User}, User, false
	return best
}
