package annotation

import "github.com/weir-mcp/weir/contract"

// sep1487 is SEP-1487: trustedHint, by which a server says of its own tool that it is safe and reliable. It counts from
// a server that is trusted anyway: see [contract.Effective].
func sep1487() dialect {
	return dialect{
		id: "sep-1487", members: []string{trustedHint},
		readTool: readSep1487, writeTool: writeSep1487,
	}
}

const trustedHint = "trustedHint"

func readSep1487(in places, c *contract.Contract) {
	c.Trusted = in.annotations.hint(trustedHint)
}

func writeSep1487(tool *editor, c contract.Contract) {
	tool.in(annotations, func(out *editor) {
		out.hint(trustedHint, c.Trusted)
	})
}
