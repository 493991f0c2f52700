package rawjson

// Repair returns the document with the escape of U+FFFD in place of every escape of half a surrogate pair, and whether
// there was one. JavaScript cuts texts between the halves, and JSON.stringify then writes such an escape; the
// TypeScript and Python decoders read it, and RFC 8259 (8.2) leaves open as what. It takes one pass. The document keeps
// its length.
func Repair(data []byte) (repaired []byte, changed bool) {
	c := checker{data: data}
	for i := 0; i < len(data); {
		if data[i] != '\\' {
			i++
			continue
		}
		if i+1 < len(data) && data[i+1] != 'u' || c.unit(i) < 0 {
			i += 2
			continue
		}
		if c.unicode(i) < 0 {
			if !changed {
				data, changed = append([]byte(nil), data...), true
				c.data = data
			}
			copy(data[i:], `\ufffd`)
			i += 6
			continue
		}
		i = c.unicode(i)
	}
	return data, changed
}
