package annotation

import "github.com/weir-mcp/weir/internal/rawjson"

const (
	displayTemplates = "io.modelcontextprotocol/display-templates"
	maxTemplate      = 1000 // bytes
)

// DisplayTemplate returns the text by which a tool describes its calls to people, with names of arguments in braces
// (extension io.modelcontextprotocol/display-templates, draft of September 2026, Call-side preview), and "" if there is
// none or it has more than 1000 bytes. Templates of single branches of the input schema are not read. A template
// decides nothing, and a server that nobody trusts may describe any call as any other.
func DisplayTemplate(tool []byte) string {
	raw, _ := rawjson.Get(tool, meta, displayTemplates, "template")
	if text, ok := rawjson.String(raw); ok && len(text) <= maxTemplate {
		return text
	}
	return ""
}
