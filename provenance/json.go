package provenance

import (
	"bytes"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// AddJSON adds the texts, numbers and member names of a JSON document that came from the source. A text that is itself
// a JSON object or array, as servers put into text blocks, is added as such. The document has passed rawjson.Check; of
// any other, the readable part is added. A document that came from the source a moment ago is not added again: then
// AddJSON returns false.
func (x *Index) AddJSON(s Source, doc []byte) bool {
	s = sound(s)
	if len(doc) > MaxDocument {
		doc, x.data.lost = doc[:MaxDocument], true
	}
	added := addition{source: s, sum: sumOf(doc), from: x.data.end()}
	if x.data.added.holds(&added, x.data.base) {
		return false
	}
	w := x.data.open(s)
	var hidden [][]byte
	leaves(doc, true, func(text []byte) {
		w.write(text)
		w.write(betweenLeaves)
		decodings(text, func(plain []byte) { hidden = append(hidden, plain) })
	})
	for _, plain := range hidden {
		w.write(plain)
		w.write(betweenLeaves)
	}
	w.close()
	added.to = x.data.end()
	x.data.added.note(added)
	return true
}

// MaxDocument is how much of one document is kept, in bytes, so that a large one does not delay its reader: indexing
// text costs some thirty times as much as a scan. The rest counts as forgotten.
const MaxDocument = 1 << 20

// betweenLeaves separates the texts of one document.
var betweenLeaves = []byte{0}

// leaves calls yield with every text, number and member name of a document, texts unescaped.
func leaves(doc []byte, nested bool, yield func([]byte)) {
	for i := 0; i < len(doc); {
		switch c := doc[i]; {
		case c == '"':
			end := stringEnd(doc, i)
			leaf(doc[i:end], nested, yield)
			i = end
		case c == '-' || '0' <= c && c <= '9':
			end := i + 1
			for end < len(doc) && bytes.IndexByte([]byte("+-.eE0123456789"), doc[end]) >= 0 {
				end++
			}
			yield(doc[i:end])
			i = end
		default:
			i++
		}
	}
}

// leaf reads one text.
func leaf(literal []byte, nested bool, yield func([]byte)) {
	text := literal[1 : len(literal)-min(1, len(literal)-1)]
	if bytes.IndexByte(text, '\\') >= 0 {
		plain, ok := rawjson.Text(literal)
		if !ok {
			return
		}
		text = plain
	}
	if inner := bytes.TrimSpace(text); nested && len(inner) > 1 && (inner[0] == '{' || inner[0] == '[') && rawjson.Check(inner) == nil {
		leaves(inner, false, yield)
		return
	}
	yield(text)
}

// stringEnd returns the end of the string that begins at i, or of the document.
func stringEnd(doc []byte, i int) int {
	quote := i
	for i++; i < len(doc); {
		if quote < i {
			n := bytes.IndexByte(doc[i:], '"')
			if n < 0 {
				return len(doc)
			}
			quote = i + n
		}
		n := bytes.IndexByte(doc[i:quote], '\\')
		if n < 0 {
			return quote + 1
		}
		i += n + 2
	}
	return len(doc)
}
