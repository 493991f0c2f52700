package policy

import (
	"encoding/json"
	"slices"

	"github.com/weir-mcp/weir/contract"
)

// Encode returns the part of the facts that may be written down, as the JSON text of an object that [DecodeFacts]
// reads. It has no argument of the call: of the sets that hold some, their sizes. It leaves out the values that
// [ParseFacts] fills in by itself, and those that an event of package record has elsewhere: the moment, the names of
// method, tool, server and session, and the session's label.
func (f *Facts) Encode() []byte { return f.encode(false) }

// EncodeDestinations is Encode with the elements of call.destinations, which are values of the arguments. Of more or
// longer ones than events hold, it has the size alone.
func (f *Facts) EncodeDestinations() []byte { return f.encode(true) }

func (f *Facts) encode(destinations bool) []byte {
	e := encoder{facts: f, text: append(make([]byte, 0, 512), '{'), destinations: destinations}
	if c := new(contract.Contract); !f.Tool.Declared.Equal(*c) {
		e.unsaid = c
	}
	if c := contract.Effective(f.Tool.Declared, f.Server.Trust); !f.Tool.Annotations.Equal(c) {
		e.follows = &c
	}
	for i := range recorded {
		if r := &recorded[i]; !r.result || f.Response != nil {
			r.encode(&e)
		}
	}
	return append(e.text, '}')
}

// recorded are the facts that a record has.
var recorded = slices.DeleteFunc(slices.Clone(facts), func(f fact) bool { return f.encode == nil })

// DecodeFacts returns the values that [Facts.Encode] wrote.
func DecodeFacts(text []byte) (Values, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	v := make(Values, len(raw))
	for name, member := range raw {
		var value any
		if err := json.Unmarshal(member, &value); err != nil {
			return nil, err
		}
		switch x := value.(type) {
		case float64:
			if value = int(x); float64(int(x)) != x {
				value = nil
			}
		case []any:
			value = textsIn(x)
		}
		v[name] = value
	}
	return v, nil
}

// textsIn returns the list if all of it are texts.
func textsIn(list []any) any {
	texts := make([]string, 0, len(list))
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return list
		}
		texts = append(texts, s)
	}
	return slices.Clip(texts)
}
