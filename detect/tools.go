package detect

import "bytes"

// Bounds of names of tools, and of where they are looked for, in bytes.
const (
	leastName   = 6
	longestName = 96
	mostNames   = 512 // names of one source
	orderReach  = 48  // from the verb of an order to the name
)

// A Tool is one that an agent may call.
type Tool struct {
	Name string
	Acts bool // it may change or send something

	// Source is whose tool it is. The name counts in texts of this source, and if it is Vouched for in
	// those of all sources.
	Source  string
	Vouched bool
}

// Tools are the tools that an agent may call, by their names. They do not change, and nil has none.
type Tools struct {
	owners map[string][]owner // by the key of the name
}

// An owner is a source that has a tool with a name.
type owner struct {
	source        string
	vouched, acts bool
}

// NewTools returns the tools whose names cannot be words of prose: names of several words that an underscore,
// a hyphen, a dot or a capital joins, and all names with a prefix of the host: the name of the source,
// mcp and the name, or mcp__ and any name. A source cannot make the others' texts suspicious by the names that it
// gives its tools, unless it is vouched for. Of each source the first 512 names count.
func NewTools(all []Tool) *Tools {
	t := &Tools{owners: map[string][]owner{}}
	counts := map[string]int{}
	for _, tool := range all {
		letters, joint := nameKey(nil, []byte(tool.Name))
		if joint == noName || len(letters) == 0 || len(tool.Name) > longestName || counts[tool.Source] >= mostNames {
			continue
		}
		counts[tool.Source]++
		for _, key := range namesOf(string(letters), joint, tool.Source) {
			t.owners[key] = append(t.owners[key], owner{tool.Source, tool.Vouched, tool.Acts})
		}
	}
	return t
}

// behind begins the keys of names that stand behind mcp__ and the name of a server: there any word is a name.
const behind = "__"

// namesOf returns the keys of a tool by its names: its own, and with the prefixes that hosts give it.
func namesOf(key string, by joint, source string) []string {
	all := []string{behind + key}
	if by != oneWord && len(key) >= leastName {
		all = append(all, key)
	}
	if server, of := nameKey(nil, []byte(source)); of != noName && len(server) > 0 {
		all = append(all, string(server)+key, "mcp"+string(server)+key)
	}
	return all
}

// In returns the tools whose names count in texts of a source.
func (t *Tools) In(source string) Named { return Named{t, source} }

// Named are the tools that orders in a text may name. The zero Named are none.
type Named struct {
	tools  *Tools
	source string
}

// means returns the meaning of a name: a tool that acts, or another one.
func (n Named) means(key []byte) meaning {
	found := noMeaning
	for _, o := range n.tools.owners[string(key)] {
		switch {
		case !o.vouched && o.source != n.source:
		case o.acts:
			return actingTool
		default:
			found = otherTool
		}
	}
	return found
}

// A joint is how the words of a name are joined.
type joint uint8

// The joints.
const (
	noName     joint = iota // it has other characters
	oneWord                 // it has no joint
	proseJoint              // by hyphens, dots or capitals, as prose has them too
	nameJoint               // by underscores
)

// nameKey appends the letters and digits of a name in lower case, and returns how its words are joined.
func nameKey(key, name []byte) (_ []byte, by joint) {
	by = oneWord
	for i, c := range name {
		inside := i > 0 && i+1 < len(name)
		switch {
		case c == '_' && inside:
			by = nameJoint
		case c == '_':
		case joints[c]:
			if inside {
				by = max(by, proseJoint)
			}
		case !wordByte[c]:
			return key, noName
		default:
			if 'A' <= c && c <= 'Z' && i > 0 && 'a' <= name[i-1] && name[i-1] <= 'z' {
				by = max(by, proseJoint)
			}
			key = append(key, lower(c))
		}
	}
	return key, by
}

// joints are the bytes that join words in names, beside the underscore.
var joints = [256]bool{'-': true, '.': true, '/': true, ':': true}

// nameByte reports whether a byte may be of a name of a tool.
func nameByte(c byte) bool { return wordByte[c] || joints[c] || c == '_' }

// orders looks for the names of tools in the sentence of a verb that tells to call something. No byte is
// looked at twice.
func (r *reading) orders(l *lexeme, start, end int) {
	if l.means == toCallBefore {
		r.names(max(r.named, start-orderReach), start, false)
		return
	}
	inName := start > 0 && nameByte(r.text[start-1]) || end < len(r.text) && (r.text[end] == '_' || r.text[end] == '-')
	if !inName && !describes(r.text[:start]) {
		r.names(max(r.named, end), min(len(r.text), end+orderReach), true)
	}
}

// describes reports whether the word before a verb is one with which it tells of a use, and orders none.
func describes(before []byte) bool {
	before = bytes.TrimRight(before[max(0, len(before)-12):], " \n\t")
	at := len(before)
	for at > 0 && (wordByte[before[at-1]] || before[at-1] == '\'') {
		at--
	}
	switch string(bytes.ToLower(before[at:])) {
	case "can", "could", "may", "might", "will", "would", "we", "they", "i", "not", "never", "don't", "that", "which", "who":
		return true
	}
	return false
}

// names notes the names of tools that begin from one place to another, or before the end of the sentence.
func (r *reading) names(from, to int, sentence bool) {
	text := r.text
	for at := from; at < to; {
		if !nameByte(text[at]) || at > 0 && nameByte(text[at-1]) {
			if sentence && ends(text, at) {
				return
			}
			at++
			r.named = at
			continue
		}
		end := at
		for end < len(text) && end-at <= longestName && nameByte(text[end]) {
			end++
		}
		last := end
		for last > at && joints[text[last-1]] {
			last--
		}
		if m := r.tool(at, last); m != noMeaning {
			r.say(m, at, last)
		}
		if r.named = end; sentence && last < end && ends(text, last) {
			return
		}
		at = end
	}
}

// ends reports whether a sentence ends at a place.
func ends(text []byte, at int) bool {
	switch text[at] {
	case '.', '!', '?', ';':
		return at+1 == len(text) || space(text[at+1])
	case '\n':
		return at+1 < len(text) && text[at+1] == '\n'
	}
	return false
}

// tool returns the meaning of a name in the text. Names that words of prose may look like count between marks
// only.
func (r *reading) tool(start, end int) meaning {
	name := r.text[start:end]
	if len(name) < leastName || len(name) > longestName {
		return noMeaning
	}
	marked := start > 0 && quoting[r.text[start-1]] && end < len(r.text) && (quoting[r.text[end]] || r.text[end] == '(')
	var buf [longestName + len(behind)]byte
	last := bytes.LastIndexAny(name, "./:") + 1
	server := 0 // the end of its name, as hosts show tools
	if at := bytes.LastIndex(name, []byte(behind)); at >= 0 {
		server = at + len(behind)
	}
	if server > last && bytes.EqualFold(name[last:min(len(name), last+len("mcp__"))], []byte("mcp__")) {
		if key, by := nameKey(append(buf[:0], behind...), name[server:]); by != noName {
			if m := r.tools.means(key); m != noMeaning {
				return m
			}
		}
	}
	for _, from := range [...]int{0, last, server} {
		if key, by := nameKey(buf[:0], name[from:]); by == nameJoint || by == proseJoint && marked {
			if m := r.tools.means(key); m != noMeaning {
				return m
			}
		}
	}
	return noMeaning
}

// quoting are the bytes between which names stand.
var quoting = [256]bool{'`': true, '"': true, '\'': true, '*': true, '<': true, '>': true}
