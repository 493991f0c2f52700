package annotation

import (
	"fmt"
	"iter"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// The members of results that hold content: of tools/call, resources/read, prompts/get.
const (
	content  = "content"
	contents = "contents"
	messages = "messages"
	resource = "resource"
)

// resultMembers are the members of a result that are read here. isError is not, but belongs to [Outline].
var resultMembers = []string{meta, content, contents, messages, "isError"}

// blockMembers are the members of a content block that are read here: the labels and the members that may hold blocks.
var blockMembers = []string{meta, annotations, content, resource}

// Outline returns the readable members of a result, and its isError, without its content: the document is small however
// large the result is, unless its annotations are large. It takes one scan, and a search for labels in the content. The
// outline reads as the result does.
func Outline(result []byte) []byte {
	if rawjson.Kind(result) != '{' {
		return result
	}
	out := []byte{'{'}
	rawjson.Select(result, resultMembers, func(name string, value []byte) bool {
		if name == content || name == contents || name == messages {
			if value = outlineOf(value); value == nil {
				return true
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendQuote(out, name), ':'), value...)
		return true
	})
	return append(out, '}')
}

// outlineOf returns the blocks of an array with only their labels, and those inside of them; nil if there is none.
func outlineOf(list []byte) []byte {
	if !holdLabels(list) || rawjson.Kind(list) != '[' {
		return nil
	}
	out := []byte{'['}
	for block := range rawjson.Elements(list) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = appendOutline(out, block, 0)
	}
	return append(out, ']')
}

// appendOutline appends the labels of a block, and those of the blocks inside of it, two deep: messages hold content,
// and content holds resources.
func appendOutline(out, block []byte, depth int) []byte {
	out = append(out, '{')
	first := true
	rawjson.Select(block, blockMembers, func(name string, value []byte) bool {
		own := name == meta || name == annotations
		if !own && (depth > 1 || !holdLabels(value)) {
			return true
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(rawjson.AppendQuote(out, name), ':')
		switch {
		case own:
			out = append(out, value...)
		case rawjson.Kind(value) == '[':
			out = append(out, '[')
			n := 0
			for inner := range rawjson.Elements(value) {
				if n++; n > 1 {
					out = append(out, ',')
				}
				out = appendOutline(out, inner, depth+1)
			}
			out = append(out, ']')
		default:
			out = appendOutline(out, value, depth+1)
		}
		return true
	})
	return append(out, '}')
}

// holdLabels reports whether an object in the text has a member of labels. It spares large content a closer look.
func holdLabels(text []byte) bool { return rawjson.HasName(text, meta, annotations) }

// blocks iterates over the blocks of a result that may have labels: content, contents of resources, messages of
// prompts, and their insides.
func blocks(result *object) iter.Seq[*object] {
	return func(yield func(*object) bool) {
		for _, name := range []string{content, contents, messages} {
			list, ok := result.get(name)
			if ok && holdLabels(list) && !blocksOf(result, name, 0, yield) {
				return
			}
		}
	}
}

// blocksOf yields the block, or each of the array of blocks, that a member holds, and those inside of them.
func blocksOf(in *object, name string, depth int, yield func(*object) bool) bool {
	list, ok := in.get(name)
	if !ok || !holdLabels(list) {
		return true
	}
	where := at(in.where, name)
	if rawjson.Kind(list) == '{' {
		return inside(&object{raw: list, where: where, found: in.found}, depth, yield)
	}
	n := 0
	for raw := range rawjson.Elements(list) {
		if rawjson.Kind(raw) == '{' && holdLabels(raw) &&
			!inside(&object{raw: raw, where: fmt.Sprintf("%s[%d]", where, n), found: in.found}, depth, yield) {
			return false
		}
		n++
	}
	return true
}

func inside(block *object, depth int, yield func(*object) bool) bool {
	block.index(blockMembers)
	if !yield(block) {
		return false
	}
	return depth > 1 || blocksOf(block, content, depth+1, yield) && blocksOf(block, resource, depth+1, yield)
}
