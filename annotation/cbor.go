package annotation

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// deterministicCBOR returns a JSON value in the core deterministic encoding of CBOR (RFC 8949, 4.2.1), converted as its
// section 6.2 has it: a number without fraction and exponent is an integer, any other a float of the shortest form that
// keeps its value. The error says which number neither can hold.
func deterministicCBOR(record []byte) ([]byte, error) {
	value, err := cborValue(record)
	if err != nil {
		return nil, err
	}
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, fmt.Errorf("encoding CBOR: %w", err)
	}
	text, err := mode.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding CBOR: %w", err)
	}
	return text, nil
}

// cborValue returns the Go value that encodes as the JSON value. The record was checked, so its depth is bounded.
func cborValue(record []byte) (any, error) {
	switch rawjson.Kind(record) {
	case '{':
		members := map[string]any{}
		for name, raw := range rawjson.Members(record) {
			value, err := cborValue(raw)
			if err != nil {
				return nil, err
			}
			members[name] = value
		}
		return members, nil
	case '[':
		elements := []any{}
		for raw := range rawjson.Elements(record) {
			value, err := cborValue(raw)
			if err != nil {
				return nil, err
			}
			elements = append(elements, value)
		}
		return elements, nil
	case '"':
		s, _ := rawjson.String(record)
		return s, nil
	case 't', 'f':
		b, _ := rawjson.Bool(record)
		return b, nil
	case '0':
		return cborNumber(strings.TrimSpace(string(record)))
	}
	return nil, nil
}

// maxInteger is how long the text of an integer of 64 bits and a sign may be.
const maxInteger = 21

func cborNumber(text string) (any, error) {
	if strings.ContainsAny(text, ".eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("the record has the number %.40s, which no float holds", text)
		}
		return f, nil
	}
	n, ok := new(big.Int).SetString(text[:min(len(text), maxInteger)], 10)
	least, most := new(big.Int).Lsh(big.NewInt(-1), 64), new(big.Int).Lsh(big.NewInt(1), 64)
	if !ok || len(text) > maxInteger || n.Cmp(least) < 0 || n.Cmp(most) >= 0 {
		return nil, fmt.Errorf("the record has the number %.40s, which no integer of CBOR holds", text)
	}
	return n, nil
}
