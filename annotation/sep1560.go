package annotation

import "github.com/weir-mcp/weir/contract"

// sep1560 is SEP-1560: secretHint, by which a tool warns that its output may hold secrets.
func sep1560() dialect {
	return dialect{
		id: "sep-1560", members: []string{secretHint},
		readTool: readSep1560, readResult: warned(readSep1560), writeTool: writeSep1560,
	}
}

const secretHint = "secretHint"

func readSep1560(in places, c *contract.Contract) {
	c.Output.Secret = in.annotations.hint(secretHint)
}

func writeSep1560(tool *editor, c contract.Contract) {
	tool.in(annotations, func(out *editor) {
		out.hint(secretHint, c.Output.Secret)
	})
}
