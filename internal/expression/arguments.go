package expression

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// DecodeArguments returns the object in data as a map, or an error value. No data is the empty object. Member names
// must be unique; the caller has checked that.
func DecodeArguments(data []byte) ref.Val {
	if len(data) > MaxArguments {
		return types.NewErr("arguments of %d bytes are more than the %d that rules may read", len(data), MaxArguments)
	}
	if len(data) == 0 {
		return &object{Mapper: types.NewStringInterfaceMap(types.DefaultTypeAdapter, nil)}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var members map[string]any
	if err := dec.Decode(&members); err != nil {
		return types.NewErr("reading arguments: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return types.NewErr("reading arguments: more than one value")
	}
	v, err := jsonObject(members)
	if err != nil {
		return types.NewErr("reading arguments: %v", err)
	}
	return v
}

// An object is a JSON object that iterates in the order of its names, so that a decision never depends on chance.
type object struct {
	traits.Mapper
	names []string
}

// Iterator returns an iterator over the sorted names.
func (o *object) Iterator() traits.Iterator {
	return types.NewStringList(types.DefaultTypeAdapter, o.names).Iterator()
}

func jsonObject(members map[string]any) (ref.Val, error) {
	for name, member := range members {
		v, err := jsonValue(member)
		if err != nil {
			return nil, err
		}
		members[name] = v
	}
	return &object{
		Mapper: types.NewStringInterfaceMap(types.DefaultTypeAdapter, members),
		names:  slices.Sorted(maps.Keys(members)),
	}, nil
}

// jsonValue converts a value that encoding/json decoded. A whole number stays whole if 64 bits hold it.
func jsonValue(v any) (ref.Val, error) {
	switch v := v.(type) {
	case nil:
		return types.NullValue, nil
	case bool:
		return types.Bool(v), nil
	case string:
		return types.String(v), nil
	case json.Number:
		return jsonNumber(string(v))
	case []any:
		items := make([]ref.Val, len(v))
		for i := range v {
			item, err := jsonValue(v[i])
			if err != nil {
				return nil, err
			}
			items[i] = item
		}
		return types.NewRefValList(types.DefaultTypeAdapter, items), nil
	case map[string]any:
		return jsonObject(v)
	}
	return nil, fmt.Errorf("unexpected %T", v)
}

func jsonNumber(s string) (ref.Val, error) {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return types.Int(i), nil
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return types.Uint(u), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("number %s is out of range", s)
	}
	return types.Double(f), nil
}
