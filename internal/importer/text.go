package importer

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/config"
)

// index returns the place of each member and element of a checked document by its JSON pointer: of a member
// that of its name.
func index(data []byte) map[string]config.Place {
	places := map[string]config.Place{}
	at, from := config.Place{Line: 1, Col: 1}, 0
	for d := jsontext.NewDecoder(bytes.NewBuffer(data)); ; {
		kind := d.PeekKind()
		before := int(d.InputOffset())
		if _, err := d.ReadToken(); err != nil {
			return places
		}
		pointer := string(d.StackPointer())
		if _, seen := places[pointer]; seen || kind == '}' || kind == ']' {
			continue
		}
		start := before + bytes.IndexFunc(data[before:], func(r rune) bool {
			return !bytes.ContainsRune([]byte(" \t\r\n,:"), r)
		})
		at = advance(at, data[from:start])
		from = start
		places[pointer] = at
	}
}

// placeAt returns the place of the byte at offset.
func placeAt(data []byte, offset int) config.Place {
	return advance(config.Place{Line: 1, Col: 1}, data[:min(offset, len(data))])
}

// advance returns the place after the text that begins at p.
func advance(p config.Place, text []byte) config.Place {
	if n := bytes.Count(text, []byte("\n")); n > 0 {
		text = text[bytes.LastIndexByte(text, '\n')+1:]
		p = config.Place{Line: p.Line + n, Col: 1}
	}
	p.Col += utf8.RuneCount(text)
	return p
}
