package trace

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
)

// Bounds of the pages of a session.
const (
	maxLists    = 16  // results, the newest
	maxListed   = 16  // pages of a result, the first
	maxPages    = 8   // beside the one that an approval request is about
	longestPage = 120 // bytes
	mostSearch  = 64 << 10
)

// Pages are lists of addresses that stand in results without private data, the oldest first. An approval of a request for
// one of them can cover the others of its list, which the approver is shown.
type pages [][]string

// link is a plain address of a page, with the sign after it: without a query, a port, a name of a user and escapes, so
// that nothing stands in it that an approver overlooks.
var link = pattern.New(`(?s)https?://[A-Za-z0-9.-]+(?:/[A-Za-z0-9._~/+-]*)?(.|$)`)

// add notes the pages that a result lists.
func (all *pages) add(result json.RawMessage) {
	var found []string
	left := mostSearch // bytes of text with addresses
	var walk func(value []byte)
	walk = func(value []byte) {
		switch rawjson.Kind(value) {
		case '{':
			for _, inner := range rawjson.Members(value) {
				walk(inner)
			}
		case '[':
			for inner := range rawjson.Elements(value) {
				walk(inner)
			}
		case '"':
			if !bytes.Contains(value, []byte("http")) {
				return
			}
			if text, _ := rawjson.Text(value); len(text) <= left {
				left -= len(text)
				found = links(string(text), found)
			}
		}
	}
	walk(result)
	if len(found) < 2 {
		return
	}
	if *all = append(*all, found); len(*all) > maxLists {
		*all = slices.Delete(*all, 0, 1)
	}
}

// links adds the plain addresses of pages in a text, each once.
func links(text string, found []string) []string {
	for _, at := range link().FindAllStringSubmatchIndex(text, -1) {
		page, after := text[at[0]:at[2]], text[at[2]:at[3]]
		if after != "" && !isBreak(after[0]) || len(page) > longestPage || slices.Contains(found, page) || len(found) == maxListed {
			continue
		}
		if host := address.URL(page); host != "" && !address.Internal(host) {
			found = append(found, page)
		}
	}
	return found
}

// isBreak reports whether no address goes on with a sign.
func isBreak(c byte) bool {
	return c <= ' ' || c == '"' || c == '\'' || c == '<' || c == '>' || c == ')' || c == ']' || c == '|' || c == ','
}

// beside returns the other pages of the oldest list that a page stands in: what was read later cannot put others there.
func (all pages) beside(page string) (others []string) {
	for _, list := range all {
		if !slices.Contains(list, page) {
			continue
		}
		for _, other := range list {
			if other != page && len(others) < maxPages {
				others = append(others, other)
			}
		}
		return others
	}
	return nil
}

// target returns the only destination of a call; the zero Argument if there is another number of them.
func (f *Finding) target() (only policy.Argument) {
	n := 0
	for _, v := range f.Values {
		if v.Destination {
			only = v.Argument
			n++
		}
	}
	if n != 1 || f.Cut {
		return policy.Argument{}
	}
	return only
}
