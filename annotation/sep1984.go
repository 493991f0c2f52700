package annotation

import (
	"github.com/weir-mcp/weir/contract"
)

// sep1984 is SEP-1984, Comprehensive Tool Annotations for Enhanced Governance and UX: six hints, each of which claims
// nothing where it is absent.
func sep1984() dialect {
	return dialect{
		id: "sep-1984", members: []string{aiProcessingHint, slowExecutionHint, resourceIntensiveHint, sensitiveDataHint, privilegedAccessHint, reversibleHint},
		readTool: readSep1984, readResult: warned(readSep1984), writeTool: writeSep1984,
	}
}

const (
	aiProcessingHint      = "aiProcessingHint"
	slowExecutionHint     = "slowExecutionHint"
	resourceIntensiveHint = "resourceIntensiveHint"
	sensitiveDataHint     = "sensitiveDataHint"
	privilegedAccessHint  = "privilegedAccessHint"
	reversibleHint        = "reversibleHint"
)

func readSep1984(in places, c *contract.Contract) {
	c.Operation.AIProcessing = in.annotations.hint(aiProcessingHint)
	c.Operation.Slow = in.annotations.hint(slowExecutionHint)
	c.Operation.Costly = in.annotations.hint(resourceIntensiveHint)
	c.Output.Sensitive = either(c.Output.Sensitive, in.annotations.hint(sensitiveDataHint))
	c.Operation.Privileged = in.annotations.hint(privilegedAccessHint)
	c.Operation.Reversible = in.annotations.hint(reversibleHint)
}

func writeSep1984(tool *editor, c contract.Contract) {
	tool.in(annotations, func(out *editor) {
		out.hint(aiProcessingHint, c.Operation.AIProcessing)
		out.hint(slowExecutionHint, c.Operation.Slow)
		out.hint(resourceIntensiveHint, c.Operation.Costly)
		out.hint(sensitiveDataHint, c.Output.Sensitive)
		out.hint(privilegedAccessHint, c.Operation.Privileged)
		out.hint(reversibleHint, c.Operation.Reversible)
	})
}
