package rawjson

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// JCS returns the canonical text of RFC 8785, the JSON Canonicalization Scheme: as [Canonical] does, with each number
// as ECMAScript writes it, by its value as a float64. It returns nil for a document that Check would refuse for its
// syntax, and for one with a number beyond the range of a float64.
func JCS(data []byte) []byte {
	v := jsontext.Value(bytes.Clone(data))
	if v.Canonicalize() != nil || !finite(data) {
		return nil
	}
	return v
}

// finite reports whether all numbers of the document are in the range of a float64.
func finite(data []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return true // the end
		}
		if token.Kind() == '0' {
			if _, err := strconv.ParseFloat(token.String(), 64); err != nil {
				return false
			}
		}
	}
}
