package annotation

import (
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// ifcReaders is how Microsoft's FIDES gateway labels results and requests: _meta["com.github.ifc/labels"] is a map from
// JSONPath (RFC 9535) to {integrity, confidentiality: [reader, ...]}. The reader "public" means everyone. What is
// labelled in parts is here labelled as a whole: readers are those that all parts have.
func ifcReaders() dialect {
	return dialect{
		id: "ifc-readers", members: []string{readersKey},
		readResult: readIFCResult, readRequest: readIFCRequest,
		writeResult: writeIFCReaders, writeRequest: writeIFCReaders,
	}
}

const (
	readersKey = "com.github.ifc/labels"
	whole      = "$" // the JSONPath of the whole
)

func readIFCResult(in places, c *reading) { c.Label = label.Join(c.Label, readLabels(in.meta)) }

func readIFCRequest(in places, l *label.Label) { *l = label.Join(*l, readLabels(in.meta)) }

func readLabels(meta *object) label.Label {
	var l label.Label
	unreadable := label.Label{Untrusted: true, Readers: label.OnlyReaders()}
	parts, bad := meta.container(readersKey)
	if bad {
		return unreadable
	}
	if parts == nil {
		return l
	}
	for path, raw := range rawjson.Members(parts.raw) {
		where := at(parts.where, path)
		if !strings.HasPrefix(path, whole) {
			parts.found.add(where, "is not a JSONPath: it does not start with $")
		}
		part := asObject(raw, where, parts.found)
		if part == nil {
			l = label.Join(l, unreadable)
			continue
		}
		part.require(integrity, confidentiality)
		one := label.Label{Untrusted: ifcWord(part, integrity, trusted, untrusted)}
		if value, ok := part.get(confidentiality); ok {
			if rawjson.Kind(value) == '[' {
				one.Readers = readReaders(part, confidentiality, value)
			} else {
				part.found.add(at(where, confidentiality), isNot(value, "an array"))
				one.Readers = label.OnlyReaders()
			}
		}
		l = label.Join(l, one)
	}
	return l
}

// writeIFCReaders labels the whole by what its parts claim and the label asserts, so that the whole is never less
// strict than a part. Private by itself has no words here.
func writeIFCReaders(meta *editor, l label.Label) {
	_, limited := l.Readers.Limited()
	if !l.Untrusted && !limited {
		return
	}
	parts := label.Join(readLabels(meta.read()), l)
	meta.in(readersKey, func(labels *editor) {
		labels.in(whole, func(out *editor) {
			before := ifcLabel(out.read())
			if parts.Untrusted {
				out.word(integrity, untrusted)
			}
			writeReaders(out, before.Readers, parts.Readers)
		})
	})
}
