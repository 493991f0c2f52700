package kit

import (
	"fmt"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// A hop is a document of the vectors that passes a gateway.
type hop struct {
	Check
	vector   string
	place    string // tool, result or request
	document []byte
	name     string // of the tool with this definition
}

// ownDialect has the words between two Weirs, which no other gateway has a duty to pass.
const ownDialect = "weir"

// hops returns the vectors of all dialects that have a meaning, for the way through a gateway.
func hops() (all []hop, err error) {
	files, err := conformance.Files()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Dialect == ownDialect {
			continue
		}
		for _, v := range f.Read {
			if v.Kind == "invalid" || v.Place == "resolved" {
				continue
			}
			p := hop{
				Check: Check{v.Place + "." + f.Dialect, Must, "SEP-1913, Security Implications: propagation; " + f.Source,
					"the annotations of a " + v.Place + " pass the gateway, or are raised"},
				vector: f.Dialect + "/" + v.Place + "/" + v.Name, place: v.Place, document: v.Document,
			}
			if p.place == "tool" {
				p.name = fmt.Sprintf("kit_%d", len(all))
				if p.document, err = named(p.document, p.name); err != nil {
					return nil, fmt.Errorf("%s: %w", p.vector, err)
				}
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// named returns the definition with another name and a schema.
func named(tool []byte, name string) (out []byte, err error) {
	if out, err = rawjson.Set(tool, rawjson.Quote(name), "name"); err != nil {
		return nil, err
	}
	if _, ok := rawjson.Get(out, "inputSchema"); ok {
		return out, nil
	}
	return rawjson.Set(out, []byte(`{"type":"object"}`), "inputSchema")
}

// toolList returns the result of tools/list of the kit's server.
func toolList(all []hop) []byte {
	list := []byte(`{"tools":[{"name":"` + plainTool + `","description":"A plain tool","inputSchema":{"type":"object"},` +
		`"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false,` +
		`"inputMetadata":{"destination":"ephemeral","sensitivity":"none","outcomes":"benign"},` +
		`"returnMetadata":{"source":"system","sensitivity":"none"}}},` +
		`{"name":"` + resolvableTool + `","description":"A tool with a resolution","inputSchema":{"type":"object"},"resolve":true,` +
		`"annotations":{"readOnlyHint":true,"openWorldHint":false},"_meta":{"io.modelcontextprotocol/tool-resolution":{"resolvable":true}}}`)
	for _, p := range all {
		if p.place == "tool" {
			list = append(append(list, ','), p.document...)
		}
	}
	return append(list, "]}"...)
}

// survives returns the difference that a gateway made to a document, or "". Annotations that mean more than before
// are none.
func (p *hop) survives(got []byte) string {
	lost, changed := p.compare(got)
	if before, ok := rawjson.Get(p.document, "content"); ok && lost == "" {
		after, _ := rawjson.Get(got, "content")
		lost = unequal(string(rawjson.Canonical(before)), string(rawjson.Canonical(after)))
	}
	says, raised := p.raised(got)
	switch {
	case lost != "" && says && raised, changed != "" && lost == "" && raised:
		return ""
	case lost != "":
		return lost
	}
	return changed
}

// compare returns the first annotation that is not there any more, and the first one that has another value.
func (p *hop) compare(got []byte) (lost, changed string) {
	for _, group := range [][]string{{"annotations"}, {"_meta"}, {"_meta", "annotations"}} {
		members, _ := rawjson.Get(p.document, group...)
		for name, value := range rawjson.Members(members) {
			if name == "annotations" {
				continue // its members are looked at one by one
			}
			at := append(append([]string{}, group...), name)
			after, ok := rawjson.Get(got, at...)
			diff := unequal(string(rawjson.Canonical(value)), string(rawjson.Canonical(after)))
			switch {
			case !ok && lost == "":
				lost = fmt.Sprintf("%q is lost", at)
			case ok && diff != "" && changed == "":
				changed = fmt.Sprintf("%q: %s", at, diff)
			}
		}
	}
	return lost, changed
}

// raised reports whether the document says something, and whether got says that or worse, and anything at all.
func (p *hop) raised(got []byte) (says, raised bool) {
	if annotation.Check(got) != nil {
		return false, false
	}
	switch p.place {
	case "tool":
		before, _ := annotation.ReadTool(p.document)
		after, _ := annotation.ReadTool(got)
		return len(said(before)) > 0, len(said(after)) > 0 && worse(before, after)
	case "result":
		before, _ := annotation.ReadResult(p.document)
		after, _ := annotation.ReadResult(got)
		return !before.Label.IsZero(), !after.Label.IsZero() && after.Label.Covers(before.Label)
	default:
		before, _ := annotation.ReadRequest(p.document)
		after, _ := annotation.ReadRequest(got)
		return !before.IsZero(), !after.IsZero() && after.Covers(before)
	}
}

// worse reports whether all that a contract declares is declared by another one too, the same or worse.
func worse(before, after contract.Contract) bool {
	declared, now := said(before), said(after)
	joined := said(contract.Join(before, after))
	for name := range declared {
		if now[name] == nil || text(joined[name]) != text(now[name]) {
			return false
		}
	}
	return true
}
