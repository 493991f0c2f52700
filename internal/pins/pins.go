// Package pins remembers the definitions that servers showed, who has vouched for them, and their changes since.
//
// Definitions are text that a model reads and follows: tools, prompts, resources, resource templates, and the
// instructions in a server's handshake. A server that was honest when it was reviewed can change them later: a rug
// pull. So each definition is pinned when it is first seen. A tool, a prompt or instructions that differ from their pin
// are held until a person reviews the difference; lists of resources may change, and their new entries are pinned as
// not reviewed.
//
// A pin says who vouches for its definition (see [Status]). Pins live in one file, weir.lock, which is made to be read
// and reviewed: JSON, sorted, indented, one line of a description a line.
//
//	{
//	  "version": 2,
//	  "servers": {
//	    "mail": {
//	      "handshake": {
//	        "instructions": {"status": "first", "description": ["Never send without asking."]}
//	      },
//	      "tools": {
//	        "send_email": {
//	          "status": "reviewed",
//	          "description": ["Send an e-mail."],
//	          "members": {"annotations": {"openWorldHint": true}, "inputSchema": {"type": "object"}}
//	        }
//	      }
//	    }
//	  }
//	}
//
// Every member of a definition is pinned. Icons, and members of _meta that are not the protocol's own, may change from
// list to list without a tool being held; hosts are then shown those that were pinned.
//
//	file, err := pins.Open("weir.lock", pins.Options{})
//	checked, err := file.Check(ctx, pins.Offer{Server: "mail", Kind: pins.Tools, Entries: entries})
//
// Text in a definition is the server's and hostile to whoever prints it: see [Difference].
package pins

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// A Kind is a kind of definitions.
type Kind string

// The kinds of definitions: the four lists of MCP, and a server's handshake.
const (
	Handshake Kind = "handshake"
	Tools     Kind = "tools"
	Prompts   Kind = "prompts"
	Resources Kind = "resources"
	Templates Kind = "resourceTemplates"
)

// Kinds returns the kinds in the order in which a person reads them.
func Kinds() []Kind { return []Kind{Handshake, Tools, Prompts, Resources, Templates} }

// key returns the member of an entry that names it.
func (k Kind) key() string {
	switch k {
	case Resources:
		return "uri"
	case Templates:
		return "uriTemplate"
	}
	return "name"
}

// Names of the two definitions of a handshake, and of the members that a list has beside its entries.
const (
	Preamble = "instructions" // the instructions to the model
	Self     = "server"       // everything else that a server says of itself
	Beside   = ""             // of a list
)

// holds reports whether a definition that differs from its pin is held. Others are pinned anew, as not reviewed.
func (k Kind) holds(name string) bool {
	switch k {
	case Tools, Prompts:
		return name != Beside
	case Handshake:
		return name == Preamble
	}
	return false
}

// A Definition is a server's description of one thing: the members of its entry in a list but for the name, in
// canonical JSON.
type Definition map[string]json.RawMessage

// protocol begins the names of _meta members that belong to the protocol's own extensions.
const protocol = "io.modelcontextprotocol/"

// Define returns the name and the definition of an entry of a list, which must be free of duplicate members. The name
// is "" if the entry has none.
func (k Kind) Define(entry json.RawMessage) (name string, d Definition) {
	d = Definition{}
	for member, raw := range rawjson.Members(entry) {
		switch {
		case member == k.key():
			name, _ = rawjson.String(raw)
		case k == Resources && member == "size" && isNumber(raw):
		default:
			d[member] = rawjson.Canonical(raw)
		}
	}
	if k == Resources || k == Templates {
		d.unstamp()
	}
	return name, d
}

// unstamp removes the time at which a resource was changed last (2025-11-25, Resources, Annotations), if it is one.
func (d Definition) unstamp() {
	raw, ok := rawjson.Get(d["annotations"], "lastModified")
	if text, isString := rawjson.String(raw); ok && isString {
		if _, err := time.Parse(time.RFC3339, text); err == nil {
			d["annotations"] = rawjson.Canonical(rawjson.Delete(d["annotations"], "lastModified"))
		}
	}
}

func isNumber(raw json.RawMessage) bool {
	c := rawjson.Kind(raw)
	return c == '-' || c >= '0' && c <= '9'
}

// Entries returns the definitions of a list by their names. Of two with one name the first counts, as it does for
// hosts.
func (k Kind) Entries(list []json.RawMessage) map[string]Definition {
	all := map[string]Definition{}
	for _, entry := range list {
		name, d := k.Define(entry)
		if _, second := all[name]; name != "" && !second {
			all[name] = d
		}
	}
	return all
}

// Instructions returns the definition that stands for a server's instructions; "" if it gives none.
func Instructions(text string) Definition {
	if text == "" {
		return Definition{}
	}
	return Definition{"description": rawjson.Canonical(rawjson.Quote(text))}
}

// Text returns the description as the server wrote it.
func (d Definition) Text() string {
	s, _ := rawjson.String(d["description"])
	return s
}

// Entry returns the definition as an entry of a list.
func (d Definition) Entry(kind Kind, name string) json.RawMessage {
	members := maps.Clone(d)
	if members == nil {
		members = Definition{}
	}
	members[kind.key()] = rawjson.Quote(name)
	raw, err := json.Marshal(members)
	if err != nil {
		panic(err) // the members were read from JSON
	}
	return raw
}

// A Difference is how one member of a definition changed. Before and After are the server's own text, not escaped; ""
// is none.
type Difference struct {
	Member string `json:"member"` // as "description" or "annotations"
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// digest identifies a definition.
func (d Definition) digest() string {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // the members were read from JSON
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Differences returns how after differs from d, in a fixed order: first the texts, then the other members by name.
func (d Definition) Differences(after Definition) []Difference {
	var found []Difference
	was, now := d.flat(), after.flat()
	all := maps.Clone(was)
	maps.Copy(all, now)
	first := []string{"title", "description"}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(m string) bool { return slices.Contains(first, m) })
	for _, member := range append(first, names...) {
		before, after := was[member], now[member]
		if before == after {
			continue
		}
		found = append(found, Difference{member, text(before), text(after)})
	}
	return found
}

// flat returns the members, those of _meta one by one.
func (d Definition) flat() map[string]string {
	out := map[string]string{}
	for member, raw := range d {
		if member != "_meta" || rawjson.Kind(raw) != '{' {
			out[member] = string(raw)
			continue
		}
		for name, value := range rawjson.Members(raw) {
			out["_meta."+name] = string(value)
		}
	}
	return out
}

// text returns a member as a person reads it.
func text(raw string) string {
	if s, ok := rawjson.String(json.RawMessage(raw)); ok && s != "" {
		return s
	}
	return raw
}

// decides reports whether a member, as Differences names it, may matter for the effects of a tool or for orders to a
// model.
func decides(member string) bool {
	meta, isMeta := strings.CutPrefix(member, "_meta.")
	return member != "icons" && (!isMeta || strings.HasPrefix(meta, protocol))
}

// drifts reports whether a definition has changed so much that it must not be used before a person has reviewed it.
func (p Pin) drifts(now Definition) bool {
	return slices.ContainsFunc(p.Definition.Differences(now), func(d Difference) bool {
		return decides(d.Member) && (!p.partial || slices.Contains(partial, d.Member) || strings.HasPrefix(d.Member, "_meta."+protocol))
	})
}

// A Status says who vouches for a pinned definition. The zero Status is nobody.
type Status uint8

const (
	Later    Status = iota // it came or changed after the server was first seen
	First                  // it is of the first version of the server; whoever trusts the server vouches for it
	Reviewed               // a person has reviewed it
)

var statuses = []string{"later", "first", "reviewed"}

// String returns the status as it is written in a lock.
func (s Status) String() string { return statuses[s] }

// A Pin is a pinned definition.
type Pin struct {
	Status     Status
	Definition Definition
	Arguments  *Arguments // of a tool; nil if nobody has confirmed any

	partial bool // it is of a file of version 1, which did not pin every member
}

// Vouched reports whether anybody vouches for the pinned definition, if the operator trusts the server or not.
func (p Pin) Vouched(trusted bool) bool { return p.Status == Reviewed || p.Status == First && trusted }

// Arguments are the parts that the arguments of a tool play, by their paths as in overlays, as a person has confirmed
// them. They are of just one definition: a changed one has none.
type Arguments struct {
	Destination []string `json:"destination,omitempty"` // where something goes
	Content     []string `json:"content,omitempty"`     // that goes there
}

// after returns the pin with the confirmed arguments of the one before, if it has none and its definition is the same.
func (p Pin) after(before Pin) Pin {
	if p.Arguments == nil && before.Arguments != nil && before.Definition.digest() == p.Definition.digest() {
		p.Arguments = before.Arguments
	}
	return p
}

// An ID names the object of a definition.
type ID struct {
	Kind Kind
	Name string
}

// Pinned are the pins of one server. A kind that is there without pins was offered, and empty.
type Pinned map[Kind]map[string]Pin

// A Lock is the content of weir.lock: pins by server.
type Lock map[string]Pinned

// Get returns a pin, as [Lock.Apart] leaves it.
func (l Lock) Get(server string, id ID) (Pin, bool) {
	p, ok := l[server][id.Kind][id.Name]
	p.Definition = l.Apart(server, id, p.Definition)
	return p, ok
}

// Apart returns a definition without the members of the server's pinned handshake: servers of 2026-07-28 identify
// themselves beside every list, and others in their handshake only.
func (l Lock) Apart(server string, id ID, d Definition) Definition {
	self := l[server][Handshake][Self].Definition
	if id.Name != Beside || len(self) == 0 {
		return d
	}
	d = maps.Clone(d)
	maps.DeleteFunc(d, func(member string, raw json.RawMessage) bool { return string(self[member]) == string(raw) })
	return d
}

func (l Lock) add(server string, kind Kind, pins map[string]Pin) {
	if l[server] == nil {
		l[server] = Pinned{}
	}
	if l[server][kind] == nil {
		l[server][kind] = map[string]Pin{}
	}
	for name, p := range pins {
		l[server][kind][name] = p.after(l[server][kind][name])
	}
}

// Confirmed returns the confirmed parts of the arguments of a server's tools, of the definitions that are pinned.
func (l Lock) Confirmed(server string) map[string]Arguments {
	all := map[string]Arguments{}
	for name, p := range l[server][Tools] {
		if p.Arguments != nil {
			all[name] = *p.Arguments
		}
	}
	return all
}

// clone returns a lock that can be changed apart from l.
func (l Lock) clone() Lock {
	out := Lock{}
	for server, kinds := range l {
		for kind, pins := range kinds {
			out.add(server, kind, pins)
		}
	}
	return out
}

// Counts are how many definitions of a server nobody has reviewed.
type Counts struct {
	First, Later int
}

// Unvouched returns how many definitions nobody vouches for, if the operator trusts the server or not.
func (c Counts) Unvouched(trusted bool) int {
	if trusted {
		return c.Later
	}
	return c.First + c.Later
}

// unreviewed counts the definitions that nobody has reviewed, by server. An empty definition says nothing.
func (l Lock) unreviewed() map[string]Counts {
	all := map[string]Counts{}
	for server, kinds := range l {
		var c Counts
		for kind, pins := range kinds {
			for name := range pins {
				p, _ := l.Get(server, ID{kind, name})
				switch {
				case p.Status == Reviewed, len(p.Definition) == 0 && (kind == Handshake || name == Beside):
				case p.Status == First:
					c.First++
				default:
					c.Later++
				}
			}
		}
		if c != (Counts{}) {
			all[server] = c
		}
	}
	return all
}
