// Package pins remembers what the tools of servers looked like when they were accepted, and tells what has changed since.
//
// A server that was honest when it was looked at can change a tool's description, schema or annotations later: a rug pull.
// So each definition is pinned when it is first seen, and one that differs from its pin is held until a person accepts the
// difference. Pins live in one file, weir.lock, which is made to be read and reviewed: JSON, sorted, indented, one line of a
// description a line.
//
//	{
//	  "version": 1,
//	  "instructions": {
//	    "mail": ["Never send without asking."]
//	  },
//	  "servers": {
//	    "mail": {
//	      "send_email": {
//	        "description": [
//	          "Send an e-mail."
//	        ],
//	        "annotations": {"openWorldHint": true},
//	        "inputSchema": {"type": "object"}
//	      }
//	    }
//	  }
//	}
//
// Pinned are the title, the description, both schemas, the annotations, and what extensions of the protocol say in _meta. The
// rest of _meta and the icons may change from list to list and are not. So are the instructions that a server gives to the
// model in its handshake, by line.
//
//	file, err := pins.Open("weir.lock", pins.Options{})
//	held, err := file.Check(ctx, "mail", tools)
//
// Text in a definition is the server's and hostile to whoever prints it: see [Difference].
package pins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// protocol begins the names of _meta members that belong to the protocol's own extensions.
const protocol = "io.modelcontextprotocol/"

// A Definition is what a server says of a tool, as far as it is pinned.
type Definition struct {
	Title        string                     `json:"title,omitempty"`
	Description  []string                   `json:"description,omitempty"` // by line
	Annotations  json.RawMessage            `json:"annotations,omitempty"` // this and what follows: canonical JSON
	InputSchema  json.RawMessage            `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage            `json:"outputSchema,omitempty"`
	Extensions   map[string]json.RawMessage `json:"extensions,omitempty"` // members of _meta
}

// Define returns the name and the definition of a Tool of a tools/list result, which must be free of duplicate members. The
// name is "" if the tool has none.
func Define(tool json.RawMessage) (name string, d Definition) {
	text := func(member string) string {
		raw, _ := rawjson.Get(tool, member)
		s, _ := rawjson.String(raw)
		return s
	}
	canonical := func(member string) json.RawMessage {
		raw, ok := rawjson.Get(tool, member)
		if !ok {
			return nil
		}
		return rawjson.Canonical(raw)
	}
	d = Definition{
		Title: text("title"), Annotations: canonical("annotations"),
		InputSchema: canonical("inputSchema"), OutputSchema: canonical("outputSchema"),
	}
	if s := text("description"); s != "" {
		d.Description = strings.Split(s, "\n")
	}
	meta, _ := rawjson.Get(tool, "_meta")
	for member, raw := range rawjson.Members(meta) {
		if strings.HasPrefix(member, protocol) {
			if d.Extensions == nil {
				d.Extensions = map[string]json.RawMessage{}
			}
			d.Extensions[member] = rawjson.Canonical(raw)
		}
	}
	return text("name"), d
}

// Instructions returns the definition that stands for a server's instructions; "" if it gives none.
func Instructions(text string) (d Definition) {
	if text != "" {
		d.Description = strings.Split(text, "\n")
	}
	return d
}

// Text returns the description as the server wrote it.
func (d Definition) Text() string { return strings.Join(d.Description, "\n") }

// Tool returns the definition as a Tool of a tools/list result.
func (d Definition) Tool(name string) json.RawMessage {
	members := map[string]any{"name": name}
	if d.Title != "" {
		members["title"] = d.Title
	}
	if d.Description != nil {
		members["description"] = d.Text()
	}
	for member, raw := range d.raw() {
		if raw != nil {
			members[member] = raw
		}
	}
	if d.Extensions != nil {
		members["_meta"] = d.Extensions
	}
	raw, err := json.Marshal(members)
	if err != nil {
		panic(err) // the raw members were read from JSON
	}
	return raw
}

// raw returns the members that are JSON, by their names.
func (d Definition) raw() map[string]json.RawMessage {
	return map[string]json.RawMessage{"annotations": d.Annotations, "inputSchema": d.InputSchema, "outputSchema": d.OutputSchema}
}

// A Difference is how one member of a definition changed. Before and After are the server's own text, not escaped; "" is none.
type Difference struct {
	Member string `json:"member"` // as "description" or "annotations"
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Differences returns how after differs from d, in a fixed order.
func (d Definition) Differences(after Definition) []Difference {
	var found []Difference
	compare := func(member, before, after string) {
		if before != after {
			found = append(found, Difference{member, before, after})
		}
	}
	compare("title", d.Title, after.Title)
	compare("description", d.Text(), after.Text())
	now := after.raw()
	was := d.raw()
	for _, member := range slices.Sorted(maps.Keys(was)) {
		compare(member, string(was[member]), string(now[member]))
	}
	all := maps.Clone(d.Extensions)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, after.Extensions)
	for _, member := range slices.Sorted(maps.Keys(all)) {
		compare("_meta."+member, string(d.Extensions[member]), string(after.Extensions[member]))
	}
	return found
}

// A Lock is the content of weir.lock: definitions by server and tool. Under [Preamble] are the server's instructions.
type Lock map[string]map[string]Definition

// Preamble is the name under which a server's instructions are pinned. No tool has it.
const Preamble = ""

type lockFile struct {
	Version      int                 `json:"version"`
	Instructions map[string][]string `json:"instructions,omitempty"` // by server and line
	Servers      Lock                `json:"servers"`
}

const version = 1

// Parse reads a lock. It is strict: a member that it does not know would be one whose change nobody notices.
func Parse(src []byte) (Lock, error) {
	if err := rawjson.Check(src); err != nil {
		return nil, err
	}
	var f lockFile
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, err
	}
	if f.Version != version {
		return nil, fmt.Errorf("version is %d; this weir knows version %d", f.Version, version)
	}
	lock := Lock{}
	for server, tools := range f.Servers {
		for name, d := range tools {
			if name == Preamble {
				return nil, fmt.Errorf("server %q: a tool has no name", server)
			}
			lock.add(server, map[string]Definition{name: d.canonical()})
		}
	}
	for server, lines := range f.Instructions {
		lock.add(server, map[string]Definition{Preamble: Instructions(strings.Join(lines, "\n"))})
	}
	return lock, nil
}

// canonical undoes the indentation of the file.
func (d Definition) canonical() Definition {
	for _, raw := range []*json.RawMessage{&d.Annotations, &d.InputSchema, &d.OutputSchema} {
		if *raw != nil {
			*raw = rawjson.Canonical(*raw)
		}
	}
	for member, raw := range d.Extensions {
		d.Extensions[member] = rawjson.Canonical(raw)
	}
	return d
}

// Encode returns what [Parse] reads. Equal locks give equal text.
func (l Lock) Encode() ([]byte, error) {
	f := lockFile{Version: version, Instructions: map[string][]string{}, Servers: Lock{}}
	for server, all := range l {
		tools := maps.Clone(all)
		if d, ok := all[Preamble]; ok {
			f.Instructions[server] = append([]string{}, d.Description...) // [] is to give none
			delete(tools, Preamble)
		}
		f.Servers[server] = tools
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
