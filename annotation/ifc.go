package annotation

import (
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// ifc is how GitHub's MCP server labels results, behind its flag ifc_labels: _meta.ifc with integrity, "trusted" or
// "untrusted", and confidentiality, "public" or "private". Some of its releases wrote an array of readers instead, as
// ["public"] or the logins of a repository's collaborators; that reads as in ifc-readers.
func ifc() dialect {
	return dialect{id: "ifc", members: []string{ifcKey}, readResult: readIFC, writeResult: writeIFC}
}

const (
	ifcKey          = "ifc"
	integrity       = "integrity"
	confidentiality = "confidentiality"
	trusted         = "trusted"
	public          = "public"
	private         = "private"
)

// maxReaders is how many readers of one list are read. One that is longer lets nobody read.
const maxReaders = 4096

// readIFC reads the label. Integrity that is trusted states that others could not have written the data, which is what
// openWorldHint: false states of a result in SEP-1913; it claims nothing beside an openWorldHint.
func readIFC(in places, c *reading) {
	said, bad := in.meta.container(ifcKey)
	if bad {
		c.Label = label.Join(c.Label, label.Label{Untrusted: true, Private: true})
	}
	if said == nil {
		return
	}
	c.Label = label.Join(c.Label, ifcLabel(said))
	if value, _ := said.get(integrity); string(value) == `"`+trusted+`"` && c.Stated.OpenWorld == contract.Unknown {
		c.Stated.OpenWorld = contract.No
	}
}

// ifcLabel returns the label of one object with integrity and confidentiality.
func ifcLabel(in *object) label.Label {
	in.require(integrity, confidentiality)
	l := label.Label{Untrusted: ifcWord(in, integrity, trusted, untrusted)}
	if value, _ := in.get(confidentiality); rawjson.Kind(value) == '[' {
		l.Readers = readReaders(in, confidentiality, value)
	} else {
		l.Private = ifcWord(in, confidentiality, public, private)
	}
	return l
}

// ifcWord reports whether a member, which should be one of two words, is the second. Any other word counts as that.
func ifcWord(in *object, name, lower, higher string) bool {
	value, ok := in.get(name)
	if !ok {
		return false
	}
	s, ok := rawjson.String(value)
	switch both := []string{lower, higher}; {
	case !ok:
		in.found.add(at(in.where, name), isNot(value, "a string"))
	case !slices.Contains(both, s):
		in.found.add(at(in.where, name), isNotOneOf(s, both))
	}
	return s != lower && rawjson.Kind(value) != 'n'
}

// readReaders returns the readers of a list. "public" among them means everyone. A list that is too long, or has a
// reader that is no string, lets nobody read: that there is a limit is all that is known of it.
func readReaders(in *object, name string, list []byte) label.Readers {
	var who []string
	everyone := false
	for raw := range rawjson.Elements(list) {
		s, ok := rawjson.String(raw)
		switch {
		case !ok:
			in.found.add(at(in.where, name), "holds a value that is no string")
			return label.OnlyReaders()
		case len(who) == maxReaders:
			in.found.add(at(in.where, name), fmt.Sprintf("has more than %d readers", maxReaders))
			return label.OnlyReaders()
		}
		everyone = everyone || s == public
		who = append(who, s)
	}
	if everyone {
		return label.Readers{}
	}
	return label.OnlyReaders(who...)
}

// writeIFC writes the assertions of the label: nothing is called trusted or public here that the server did not call
// so.
func writeIFC(meta *editor, l label.Label) {
	if !l.Untrusted && !l.Private {
		return
	}
	meta.in(ifcKey, func(out *editor) {
		before := ifcLabel(out.read())
		if l.Untrusted {
			out.word(integrity, untrusted)
		}
		_, listed := before.Readers.Limited()
		switch _, limited := l.Readers.Limited(); {
		case limited && listed:
			writeReaders(out, before.Readers, label.Join(before, l).Readers)
		case l.Private && !listed:
			out.word(confidentiality, private)
		}
	})
}

// writeReaders writes a list of readers that has changed.
func writeReaders(out *editor, before, now label.Readers) {
	who, limited := now.Limited()
	if old, was := before.Limited(); !limited || was && old.Equal(who) {
		return
	}
	texts := [][]byte{}
	for reader := range who.All() {
		texts = append(texts, rawjson.Quote(reader))
	}
	out.set(confidentiality, array(texts))
}
