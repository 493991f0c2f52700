package program

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/vault"
)

// maxDepth bounds the nesting of values that are read or handed on.
const maxDepth = 64

var (
	errTooDeep = errors.New("the value is nested too deeply")
	errTooLong = errors.New("the value is too long")
	errNoJSON  = errors.New("arguments and results are of None, booleans, numbers, texts, lists, tuples and dicts with texts as keys")
)

// decode returns a JSON value as one of Starlark.
func decode(raw json.RawMessage) (starlark.Value, error) {
	switch rawjson.Kind(raw) {
	case 'n':
		return starlark.None, nil
	case 't', 'f':
		return starlark.Bool(rawjson.Kind(raw) == 't'), nil
	case '"':
		s, ok := rawjson.String(raw)
		if !ok {
			return nil, errNoJSON
		}
		return starlark.String(s), nil
	case '[':
		var all []starlark.Value
		for e := range rawjson.Elements(raw) {
			v, err := decode(e)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return starlark.NewList(all), nil
	case '{':
		d := new(starlark.Dict)
		for name, e := range rawjson.Members(raw) {
			v, err := decode(e)
			if err != nil {
				return nil, err
			}
			if err := d.SetKey(starlark.String(name), v); err != nil {
				return nil, err
			}
		}
		return d, nil
	}
	return number(string(raw))
}

func number(text string) (starlark.Value, error) {
	text = strings.TrimSpace(text)
	if n, ok := new(big.Int).SetString(text, 10); ok && len(text) <= 400 {
		return starlark.MakeBigInt(n), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errNoJSON
	}
	return starlark.Float(f), nil
}

// An encoder writes a value of Starlark as JSON, and notes the hidden values in it.
type encoder struct {
	out    []byte
	from   []*hidden
	path   []string // to the value that is written
	places []vault.Place
}

func (e *encoder) value(v starlark.Value, depth int) error {
	switch {
	case depth == 0:
		return errTooDeep
	case len(e.out) > MaxOutput:
		return errTooLong
	}
	switch v := v.(type) {
	case starlark.NoneType:
		e.out = append(e.out, "null"...)
	case starlark.Bool:
		e.out = strconv.AppendBool(e.out, bool(v))
	case starlark.Int:
		e.out = append(e.out, v.String()...)
	case starlark.Float:
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return errNoJSON
		}
		e.out = strconv.AppendFloat(e.out, float64(v), 'g', -1, 64)
	case starlark.String:
		e.out = rawjson.AppendQuote(e.out, strings.ToValidUTF8(string(v), "\uFFFD"))
	case *hidden:
		e.from = append(e.from, v)
		for _, p := range v.parts {
			if p.of != nil {
				e.places = append(e.places, vault.Place{At: rawjson.Pointer(e.path...), Value: p.of.ID, Whole: len(v.parts) == 1})
			}
		}
		raw, err := v.raw()
		if err != nil {
			return err
		}
		e.out = append(e.out, raw...)
	case *starlark.List:
		return e.list(v, depth)
	case starlark.Tuple:
		return e.list(v, depth)
	case *starlark.Dict:
		return e.dict(v, depth)
	default:
		return errNoJSON
	}
	return nil
}

// below writes a member of a value that is nested so deeply at most.
func (e *encoder) below(name string, v starlark.Value, depth int) error {
	e.path = append(e.path, name)
	err := e.value(v, depth-1)
	e.path = e.path[:len(e.path)-1]
	return err
}

func (e *encoder) list(v starlark.Indexable, depth int) error {
	e.out = append(e.out, '[')
	for i := range v.Len() {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.below(strconv.Itoa(i), v.Index(i), depth); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	return nil
}

func (e *encoder) dict(v *starlark.Dict, depth int) error {
	e.out = append(e.out, '{')
	for i, item := range v.Items() {
		key, ok := item[0].(starlark.String)
		if !ok {
			return errNoJSON
		}
		if i > 0 {
			e.out = append(e.out, ',')
		}
		name := strings.ToValidUTF8(string(key), "\uFFFD")
		e.out = append(rawjson.AppendQuote(e.out, name), ':')
		if err := e.below(name, item[1], depth); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	return nil
}
