package annotation

import (
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// sep1913Draft is the first draft of SEP-1913, of November 2025: privateHint and sensitiveHint beside openWorldHint,
// maliciousActivityHint and attribution, which kept their meaning.
func sep1913Draft() dialect {
	return dialect{
		id:       "sep-1913-2025-11",
		members:  []string{privateHint, sensitiveHint},
		readTool: readDraftTool, readResult: warned(readDraftTool), readRequest: readDraftRequest,
		writeTool: writeDraftTool, writeResult: writeDraftResult, writeRequest: writeDraftRequest,
	}
}

const (
	privateHint   = "privateHint"
	sensitiveHint = "sensitiveHint"
	low           = "low"
	medium        = "medium"
	high          = "high"
)

// level returns whether a sensitiveHint warns: "low" says that there is nothing to warn of, any other level does.
func level(in *object) contract.Hint {
	value, ok := in.get(sensitiveHint)
	if !ok {
		return contract.Unknown
	}
	s, ok := rawjson.String(value)
	switch levels := []string{low, medium, high}; {
	case !ok:
		in.found.add(at(in.where, sensitiveHint), isNot(value, "a string"))
		if rawjson.Kind(value) == 'n' {
			return contract.Unknown
		}
	case !slices.Contains(levels, s):
		in.found.add(at(in.where, sensitiveHint), isNotOneOf(s, levels))
	}
	return contract.HintOf(s != low)
}

func readDraftTool(in places, c *contract.Contract) {
	c.Output.Private = in.annotations.hint(privateHint)
	c.Output.Sensitive = either(c.Output.Sensitive, level(in.annotations))
}

func readDraftRequest(in places, l *label.Label) {
	var said contract.Contract
	readDraftTool(in, &said)
	*l = label.Join(*l, said.Label())
}

func writeDraftTool(tool *editor, c contract.Contract) {
	tool.in(annotations, func(out *editor) {
		out.hint(maliciousHint, c.Malicious)
		out.union(attribution, c.Attribution)
		out.hint(privateHint, c.Output.Private)
		if now := c.Output.Sensitive; now != contract.Unknown && !isLevel(out, now) {
			out.word(sensitiveHint, map[contract.Hint]string{contract.No: low, contract.Yes: high}[now])
		}
	})
}

func writeDraftResult(meta *editor, l label.Label) {
	meta.in(annotations, func(out *editor) {
		out.raise(maliciousHint, l.Malicious)
		writeDraft(out, l)
	})
}

func writeDraftRequest(meta *editor, l label.Label) {
	meta.in(annotations, func(out *editor) { writeDraft(out, l) })
}

// writeDraft writes the members that results and requests share. Any sensitivity that is more than user-specific is
// high.
func writeDraft(out *editor, l label.Label) {
	out.raise(openWorldHint, l.Untrusted)
	out.union(attribution, l.Attribution)
	out.raise(privateHint, l.Private)
	if l.Sensitivity.Without(label.SetOf(label.User)).Len() > 0 && !isLevel(out, contract.Yes) {
		out.word(sensitiveHint, high)
	}
}

// isLevel reports whether there is a sensitiveHint that says so, in words of its vocabulary.
func isLevel(e *editor, h contract.Hint) bool {
	in := e.read()
	return level(in) == h && len(in.found.list) == 0
}

// either returns the statement of two members that may both speak of one thing: a warning outweighs the rest.
func either(a, b contract.Hint) contract.Hint {
	return max(a, b)
}
