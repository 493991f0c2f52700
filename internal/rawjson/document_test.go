package rawjson_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
	"pgregory.net/rapid"
)

var sizes = []struct {
	name  string
	bytes int
}{{"1KiB", 1 << 10}, {"100KiB", 100 << 10}, {"10MiB", 10 << 20}}

// document returns a tool result of about that size: half of it one text, the other half many small members.
func document(size int) []byte {
	var doc bytes.Buffer
	doc.WriteString(`{"content":[{"type":"text","text":"`)
	for doc.Len() < size/2 {
		doc.WriteString(`A line of text, with \"quotes\" and an umlaut ü.\n`)
	}
	doc.WriteString(`"}],"structuredContent":{"rows":[`)
	for i := 0; doc.Len() < size-60; i++ {
		if i > 0 {
			doc.WriteByte(',')
		}
		fmt.Fprintf(&doc, `{"id":%d,"name":"n%d","ok":true}`, i, i)
	}
	doc.WriteString(`]},"_meta":{"annotations":{"openWorldHint":true}}}`)
	return doc.Bytes()
}

// A node is a random document and its text, with random white space and escapes.
type node struct {
	text    string
	members map[string]node // nil if it is no object
}

func name(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "name", "_meta", "annotations", "", "\"", "\\", "é", "😀", "a/b", "}", ",", "\x00"}).Draw(t, "name")
}

// literal writes s as a string with some characters escaped that need not be.
func literal(t *rapid.T, s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		if r < 0x10000 && rapid.IntRange(0, 3).Draw(t, "escape") == 0 {
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		quoted := rawjson.Quote(string(r))
		out.Write(quoted[1 : len(quoted)-1])
	}
	out.WriteByte('"')
	return out.String()
}

func blank(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n\t", "\r\n"}).Draw(t, "space")
}

func value(t *rapid.T, depth int) node {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case kind >= 3 && depth > 0:
		return object(t, depth)
	case kind == 2 && depth > 0:
		var items []string
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			items = append(items, blank(t)+value(t, depth-1).text+blank(t))
		}
		return node{text: "[" + blank(t) + strings.Join(items, ",") + "]"}
	case kind == 1:
		return node{text: literal(t, rapid.StringOfN(rapid.RuneFrom([]rune(`ab"\{}[],:é😀`)), 0, 8, -1).Draw(t, "text"))}
	}
	return node{text: rapid.SampledFrom([]string{"0", "-1.50", "1e400", "12345678901234567890", "true", "false", "null"}).Draw(t, "scalar")}
}

func object(t *rapid.T, depth int) node {
	n := node{members: map[string]node{}}
	var parts []string
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		key := name(t)
		if _, taken := n.members[key]; taken {
			continue
		}
		v := value(t, depth-1)
		n.members[key] = v
		parts = append(parts, blank(t)+literal(t, key)+blank(t)+":"+blank(t)+v.text+blank(t))
	}
	n.text = "{" + blank(t) + strings.Join(parts, ",") + "}"
	return n
}

// walk draws a path that exists for some way.
func walk(t *rapid.T, n node) []string {
	var path []string
	for range rapid.IntRange(1, 4).Draw(t, "steps") {
		key := name(t)
		if len(n.members) > 0 && rapid.Bool().Draw(t, "follow") {
			keys := make([]string, 0, len(n.members))
			for k := range n.members {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			key = rapid.SampledFrom(keys).Draw(t, "key")
		}
		path, n = append(path, key), n.members[key]
	}
	return path
}

// look is the naive Get.
func (n node) look(path []string) (node, bool) {
	for _, key := range path {
		child, ok := n.members[key]
		if !ok {
			return node{}, false
		}
		n = child
	}
	return n, true
}
