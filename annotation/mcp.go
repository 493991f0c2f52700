package annotation

import (
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
)

const idMCP = "mcp"

// mcp is the vocabulary of MCP itself: the hints of ToolAnnotations. Its defaults (not read-only, destructive, not
// idempotent, open world) are not filled in: an absent hint is unknown, and [contract.Contract.Assume] knows the value
// to make of that.
func mcp() dialect {
	return dialect{
		id: idMCP, members: []string{"title", readOnlyHint, destructiveHint, idempotentHint, openWorldHint},
		readTool: readHints, writeTool: writeHints,
	}
}

const (
	readOnlyHint    = "readOnlyHint"
	destructiveHint = "destructiveHint"
	idempotentHint  = "idempotentHint"
	openWorldHint   = "openWorldHint"
)

func readHints(places places, c *contract.Contract) {
	in := places.annotations
	if title, ok := in.get("title"); ok && rawjson.Kind(title) != '"' {
		in.found.add(at(in.where, "title"), isNot(title, "a string"))
	}
	c.ReadOnly = in.hint(readOnlyHint)
	c.Destructive = in.hint(destructiveHint)
	c.Idempotent = in.hint(idempotentHint)
	c.OpenWorld = in.hint(openWorldHint)
}

func writeHints(tool *editor, c contract.Contract) {
	tool.in(annotations, func(out *editor) {
		out.hint(readOnlyHint, c.ReadOnly)
		out.hint(destructiveHint, c.Destructive)
		out.hint(idempotentHint, c.Idempotent)
		out.hint(openWorldHint, c.OpenWorld)
	})
}
