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

// version is the version that Encode writes. Parse reads version 1 as well.
const version = 2

// A fileLock is a lock as it is written.
type fileLock struct {
	Version int                                    `json:"version"`
	Servers map[string]map[Kind]map[string]filePin `json:"servers"`
}

type filePin struct {
	Status      string     `json:"status"`
	Description []string   `json:"description,omitempty"` // by line, if it is a text
	Members     Definition `json:"members,omitempty"`     // everything else

	Arguments *fileArguments `json:"arguments,omitempty"` // of a tool, as a person has confirmed them
}

// Parse reads a lock. It is strict: a member that it does not know would be one whose change nobody notices.
func Parse(src []byte) (Lock, error) {
	if err := rawjson.Check(src); err != nil {
		return nil, err
	}
	raw, _ := rawjson.Get(src, "version")
	switch string(raw) {
	case "1":
		return parseFirst(src)
	case "2":
	default:
		return nil, fmt.Errorf("version is %.20s; this weir knows versions 1 and 2", raw)
	}
	var f fileLock
	if err := strictly(src, &f); err != nil {
		return nil, err
	}
	lock := Lock{}
	for server, kinds := range f.Servers {
		for kind, pins := range kinds {
			if !slices.Contains(Kinds(), kind) {
				return nil, fmt.Errorf("server %q: there are no %q", server, kind)
			}
			lock.add(server, kind, nil)
			for name, p := range pins {
				read, err := p.read()
				if err != nil {
					return nil, fmt.Errorf("server %q: %s %q: %w", server, kind, name, err)
				}
				lock[server][kind][name] = read
			}
		}
	}
	return lock, nil
}

func strictly(src []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

func (p filePin) read() (Pin, error) {
	status := slices.Index(statuses, p.Status)
	if status < 0 {
		return Pin{}, fmt.Errorf("%q is no status", p.Status)
	}
	d := p.Members.canonical()
	if p.Description != nil {
		if _, twice := d["description"]; twice {
			return Pin{}, fmt.Errorf("it has two descriptions")
		}
		d["description"] = rawjson.Canonical(rawjson.Quote(strings.Join(p.Description, "\n")))
	}
	return Pin{Status: Status(status), Definition: d, Arguments: p.Arguments.read(d)}, nil
}

// canonical returns the definition without the indentation of the file.
func (d Definition) canonical() Definition {
	out := Definition{}
	for member, raw := range d {
		out[member] = rawjson.Canonical(raw)
	}
	return out
}

// Encode returns the text that [Parse] reads. Equal locks give equal text.
func (l Lock) Encode() ([]byte, error) {
	f := fileLock{Version: version, Servers: map[string]map[Kind]map[string]filePin{}}
	for server, kinds := range l {
		f.Servers[server] = map[Kind]map[string]filePin{}
		for kind, pins := range kinds {
			written := map[string]filePin{}
			for name, p := range pins {
				written[name] = p.file()
			}
			f.Servers[server][kind] = written
		}
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

func (p Pin) file() filePin {
	out := filePin{Status: p.Status.String(), Members: maps.Clone(p.Definition), Arguments: p.Arguments.file(p.Definition)}
	if text, ok := rawjson.String(p.Definition["description"]); ok {
		out.Description = strings.Split(text, "\n")
		delete(out.Members, "description")
	}
	return out
}

// fileArguments are the confirmed parts as a lock has them, with the digest of the definition that they are of: a text
// that was put together from two versions has none.
type fileArguments struct {
	Of string `json:"of"`
	Arguments
}

// read returns the parts; nil if they are of another definition.
func (a *fileArguments) read(of Definition) *Arguments {
	if a == nil || a.Of != of.digest() {
		return nil
	}
	return &a.Arguments
}

// file returns the parts as a lock has them.
func (a *Arguments) file(of Definition) *fileArguments {
	if a == nil {
		return nil
	}
	return &fileArguments{of.digest(), *a}
}

// A firstLock is a lock of version 1: tools, and instructions by line. It did not say who had accepted them.
type firstLock struct {
	Version      int                             `json:"version"`
	Instructions map[string][]string             `json:"instructions"`
	Servers      map[string]map[string]firstTool `json:"servers"`
}

type firstTool struct {
	Title        string                     `json:"title"`
	Description  []string                   `json:"description"`
	Annotations  json.RawMessage            `json:"annotations"`
	InputSchema  json.RawMessage            `json:"inputSchema"`
	OutputSchema json.RawMessage            `json:"outputSchema"`
	Extensions   map[string]json.RawMessage `json:"extensions"` // members of _meta
}

// partial are the members that version 1 pinned, beside those of _meta that are the protocol's own.
var partial = []string{"title", "description", "annotations", "inputSchema", "outputSchema"}

// parseFirst reads a lock of version 1. Its pins count as first seen, and are completed when the server is next seen
// unchanged.
func parseFirst(src []byte) (Lock, error) {
	var f firstLock
	if err := strictly(src, &f); err != nil {
		return nil, err
	}
	lock := Lock{}
	for server, tools := range f.Servers {
		lock.add(server, Tools, nil)
		for name, t := range tools {
			if name == Beside {
				return nil, fmt.Errorf("server %q: a tool has no name", server)
			}
			lock[server][Tools][name] = Pin{Status: First, Definition: t.definition(), partial: true}
		}
	}
	for server, lines := range f.Instructions {
		lock.add(server, Handshake, map[string]Pin{Preamble: {Status: First, Definition: Instructions(strings.Join(lines, "\n")), partial: true}})
	}
	return lock, nil
}

func (t firstTool) definition() Definition {
	d := Instructions(strings.Join(t.Description, "\n"))
	if t.Title != "" {
		d["title"] = rawjson.Quote(t.Title)
	}
	for member, raw := range map[string]json.RawMessage{"annotations": t.Annotations, "inputSchema": t.InputSchema, "outputSchema": t.OutputSchema} {
		if raw != nil {
			d[member] = raw
		}
	}
	if t.Extensions != nil {
		meta := json.RawMessage(`{}`)
		for name, raw := range t.Extensions {
			if more, err := rawjson.Set(meta, raw, name); err == nil {
				meta = more
			}
		}
		d["_meta"] = meta
	}
	return d.canonical()
}

// accepted marks the pins of a file of version 1 as reviewed, under the mode in which only a person could have pinned
// them.
func (l Lock) accepted() {
	for _, kinds := range l {
		for _, pins := range kinds {
			for name, p := range pins {
				if p.partial {
					p.Status = Reviewed
					pins[name] = p
				}
			}
		}
	}
}
