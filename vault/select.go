package vault

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// ErrNotThere says that a pointer selects nothing. It quotes nothing of the value.
var ErrNotThere = errors.New("the pointer selects nothing in it")

// maxSearched bounds the values through which pointers select for one document, in bytes.
const maxSearched = 256 << 20

var errExpanded = errors.New("the handles make the arguments too long")

// A selector finds parts of documents, within limits of the work.
type selector struct {
	search int // bytes that may still be searched
	texts  int // texts that may still be read as JSON on the way to one part
}

// unescape reads a name in a JSON pointer.
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// maxTexts bounds the texts in texts that a pointer leads through.
const maxTexts = 4

// Select returns the part of a document to which a JSON pointer points (RFC 6901). A text that is a JSON object or
// array has its parts too, and so has an object with nothing but such a text in a member content, text or result:
// servers wrap their results so.
func Select(doc json.RawMessage, pointer string) (json.RawMessage, error) {
	s := selector{search: maxSearched}
	return s.part(doc, pointer)
}

func (s *selector) part(doc json.RawMessage, pointer string) (json.RawMessage, error) {
	if pointer == "" {
		return doc, nil
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("%.80q is no JSON pointer: it has to begin with /", pointer)
	}
	s.texts = maxTexts
	for _, name := range strings.Split(pointer[1:], "/") {
		name = unescape.Replace(name)
		next, err := s.member(doc, name)
		if err != nil {
			return nil, err
		}
		doc = next
	}
	return doc, nil
}

// member returns a member of an object or an element of an array, which may stand in a text.
func (s *selector) member(doc json.RawMessage, name string) (json.RawMessage, error) {
	for {
		if s.search -= len(doc); s.search < 0 {
			return nil, errExpanded
		}
		if found, ok := child(doc, name); ok {
			return found, nil
		}
		if s.texts--; s.texts < 0 {
			return nil, ErrNotThere
		}
		text, ok := rawjson.String(onlyMember(doc))
		if !ok {
			return nil, ErrNotThere
		}
		doc = json.RawMessage(strings.TrimSpace(text))
		if !compound(doc) || rawjson.Check(doc) != nil {
			return nil, ErrNotThere
		}
	}
}

// wraps are the members in which servers wrap the whole text of a result. Another may be one that its author filled in.
var wraps = []string{"content", "text", "result"}

// onlyMember returns the wrapping member of an object that has no other, and of any other value the value.
func onlyMember(doc json.RawMessage) json.RawMessage {
	if rawjson.Kind(doc) != '{' {
		return doc
	}
	var only json.RawMessage
	for name, value := range rawjson.Members(doc) {
		if only != nil || !slices.Contains(wraps, name) {
			return nil
		}
		only = value
	}
	return only
}

func child(doc json.RawMessage, name string) (json.RawMessage, bool) {
	if rawjson.Kind(doc) != '[' {
		value, ok := rawjson.Get(doc, name)
		return value, ok
	}
	n, err := strconv.Atoi(name)
	if err != nil || n < 0 || strconv.Itoa(n) != name {
		return nil, false
	}
	for element := range rawjson.Elements(doc) {
		if n == 0 {
			return element, true
		}
		n--
	}
	return nil, false
}
