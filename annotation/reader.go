package annotation

import (
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// A Reader reads all dialects. The zero Reader is ready to use; [NewReader] makes one that knows an organisation's
// words.
type Reader struct {
	meanings Meanings
	names    []string // vocabulary and the names in meanings; nil means vocabulary
}

// Meanings give the labels of an organisation their meaning: by the name of the member, in reverse-DNS form such as
// com.example/label, and its value, the sensitivity classes. A value that has no meaning, of a member that has, is
// sensitive in an unspecified way.
type Meanings map[string]map[string][]label.Class

// NewReader returns a Reader that knows the meanings.
func NewReader(meanings Meanings) Reader {
	r := Reader{meanings: Meanings{}, names: slices.Clone(vocabulary)}
	for name, values := range meanings {
		r.names = append(r.names, name)
		r.meanings[name] = make(map[string][]label.Class, len(values))
		for value, classes := range values {
			r.meanings[name][value] = slices.Clone(classes)
		}
	}
	return r
}

// known are all dialects, and vocabulary the names of all members that they find in the places where they read. Neither
// changes.
var (
	known      = dialects()
	vocabulary = names(known)
)

func names(of []dialect) []string {
	all := []string{annotations, meta}
	for _, d := range of {
		all = append(all, d.members...)
	}
	slices.Sort(all)
	return slices.Clip(slices.Compact(all))
}

// tool returns the places of a tool.
func (r Reader) tool(tool *object) places {
	tool.index([]string{annotations, meta})
	in := places{annotations: tool.object(annotations), meta: tool.object(meta), meanings: r.meanings}
	in.annotations.index(r.known())
	in.meta.index(r.known())
	return in
}

// data returns the places of a result, of a content block or of a request's params.
func (r Reader) data(document *object) places { return r.meta(document.object(meta)) }

// meta returns the places of a _meta.
func (r Reader) meta(said *object) places {
	in := places{meta: said, meanings: r.meanings}
	in.meta.index(r.known())
	in.annotations, in.unreadable = in.meta.container(annotations)
	in.annotations.index(r.known())
	return in
}

func (r Reader) known() []string {
	if r.names == nil {
		return vocabulary
	}
	return r.names
}

// ReadTool is [ReadTool].
func (r Reader) ReadTool(tool []byte) (contract.Contract, []Defect) {
	var found defects
	return r.contract(document(tool, &found)), found.list
}

func (r Reader) contract(tool *object) contract.Contract {
	var c contract.Contract
	in := r.tool(tool)
	if in.annotations == nil && in.meta == nil {
		return c
	}
	for _, d := range known {
		if d.readTool != nil {
			d.readTool(in, &c)
		}
	}
	return c
}

// A Statement is a tool's description of itself in one dialect.
type Statement struct {
	Dialect  string
	Contract contract.Contract
}

// Statements returns a tool's statement in each dialect that it uses, in a fixed order. [Reader.ReadTool] joins them.
func (r Reader) Statements(tool []byte) []Statement {
	var found defects
	in := r.tool(document(tool, &found))
	if in.annotations == nil && in.meta == nil {
		return nil
	}
	var all []Statement
	for _, d := range known {
		if d.readTool == nil {
			continue
		}
		var c contract.Contract
		if d.readTool(in, &c); !c.Equal(contract.Contract{}) {
			all = append(all, Statement{d.id, c})
		}
	}
	return all
}

// ReadResolved is [ReadResolved].
func (r Reader) ReadResolved(result []byte) (contract.Contract, []Defect) {
	var found defects
	in := document(result, &found)
	nested, flat := in.has("tool"), in.has(annotations)
	switch {
	case nested && flat:
		found.add("", "has both tool and annotations")
		return contract.Join(r.contract(in.object("tool")), r.contract(in)), found.list
	case nested:
		return r.contract(in.object("tool")), found.list
	case !flat && in != nil:
		found.add("", "has neither tool nor annotations")
	}
	return r.contract(in), found.list
}

// ReadResult is [ReadResult].
func (r Reader) ReadResult(result []byte) (Claim, []Defect) {
	var found defects
	var c reading
	whole := document(result, &found)
	whole.index(resultMembers)
	if in := r.data(whole); in.meta != nil {
		c.read(in)
		c.settle()
	}
	for block := range blocks(whole) {
		r.readBlock(block, &c)
	}
	c.Label = c.Label.Normal()
	return c.Claim, found.list
}

// readBlock joins the statements of a content block about itself, in its _meta or its annotations.
func (r Reader) readBlock(block *object, c *reading) {
	one := reading{Claim: Claim{Evidence: c.Evidence, Beyond: c.Beyond}}
	if in := r.data(block); in.meta != nil {
		one.read(in)
	}
	if beside, bad := block.container(annotations); beside != nil || bad {
		beside.index(r.known())
		one.read(places{annotations: beside, meanings: r.meanings})
	}
	one.settle()
	c.Label, c.Evidence, c.Beyond = label.Join(c.Label, one.Label), one.Evidence, one.Beyond
}

// read joins the statements of all dialects in a place.
func (c *reading) read(in places) {
	if in.unreadable {
		c.Label.Untrusted, c.unnamed = true, true
	}
	for _, d := range known {
		if d.readResult != nil {
			d.readResult(in, c)
		}
	}
}

// settle decides what a warning that names nothing is about: that which another vocabulary names in the same place, or
// else something unspecified.
func (c *reading) settle() {
	named := c.Label.Sensitivity.Without(label.SetOf(label.User)).Len() > 0
	switch {
	case !c.unnamed:
	case c.whole || named:
		c.Label.Private = true
	default:
		c.Label.Sensitivity = c.Label.Sensitivity.Union(label.SetOf(label.Unspecified))
	}
}

// warned reads the hints of a tool's output in a result: they warn of the data there as well.
func warned(read func(in places, c *contract.Contract)) func(in places, c *reading) {
	return func(in places, c *reading) {
		var said contract.Contract
		read(in, &said)
		now := &c.Stated.Output
		now.Unsafe, now.Secret = either(now.Unsafe, said.Output.Unsafe), either(now.Secret, said.Output.Secret)
		now.Private, now.Sensitive = either(now.Private, said.Output.Private), either(now.Sensitive, said.Output.Sensitive)
		c.unnamed = c.unnamed || said.Output.Sensitive == contract.Yes
		said.Output.Sensitive = contract.Unknown
		c.Label = label.Join(c.Label, contract.Contract{Output: said.Output}.Label())
	}
}

// ReadRequest is [ReadRequest].
func (r Reader) ReadRequest(params []byte) (label.Label, []Defect) {
	var found defects
	var l label.Label
	whole := document(params, &found)
	if in := r.data(whole); in.meta != nil {
		l.Untrusted = in.unreadable
		for _, d := range known {
			if d.readRequest != nil {
				d.readRequest(in, &l)
			}
		}
	}
	return l.Normal(), found.list
}
