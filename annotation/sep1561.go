package annotation

import "github.com/weir-mcp/weir/contract"

// sep1561 is SEP-1561: unsafeOutputHint, by which a tool warns that its output may be unfit for a prompt. The SEP
// contradicts itself on the meaning of false and on the default; here true warns, and false and absence promise
// nothing.
func sep1561() dialect {
	return dialect{
		id: "sep-1561", members: []string{unsafeOutputHint},
		readTool: readSep1561, readResult: warned(readSep1561), writeTool: writeSep1561,
	}
}

const unsafeOutputHint = "unsafeOutputHint"

func readSep1561(in places, c *contract.Contract) {
	c.Output.Unsafe = in.annotations.hint(unsafeOutputHint)
}

func writeSep1561(tool *editor, c contract.Contract) {
	tool.in(annotations, func(out *editor) {
		out.hint(unsafeOutputHint, c.Output.Unsafe)
	})
}
