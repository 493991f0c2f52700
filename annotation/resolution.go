package annotation

import "github.com/weir-mcp/weir/internal/rawjson"

// ResolutionExtension is the id of the extension for tool resolution, and the member of a tool's _meta that marks it as
// resolvable.
const ResolutionExtension = "io.modelcontextprotocol/tool-resolution"

// Resolvable reports how a tool is marked as one whose contract its server resolves for the arguments of a call: as the
// extension has it, and as SEP-1862.
func Resolvable(tool []byte) (extension, core bool) {
	is := func(path ...string) bool {
		raw, _ := rawjson.Get(tool, path...)
		v, ok := rawjson.Bool(raw)
		return ok && v
	}
	return is(meta, ResolutionExtension, "resolvable"), is("resolve")
}
