// Package catalog merges the lists of several MCP servers (tools, resources, resource templates, prompts) into the
// one list that a host sees.
//
// A [List] is an immutable snapshot: build one with [Build] from the raw list results of the servers, share it
// freely, and build another when a server's list changes. Entries stay raw JSON, so that members nobody here knows
// survive; tools carry their effective contract, spliced in (SEP-1913, Extended Tool Annotations).
//
// Names stay as they are unless two servers offer the same one. Then each of them is shown as server__name, in every
// list that the same servers make, in any order of their answers. Resources are found by their URI, which cannot be
// renamed: of two servers that offer the same URI the first in the configuration has it, and the other is a defect.
//
// A tool that the operator does not expose is left out before there are names: it is neither in the result nor found,
// so the list that hosts see and the calls that they can make do not differ. One of which policy blocks every call is
// not in the result, but found, so that the call is decided and recorded.
package catalog

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/overlay"
)

// A Kind is one of the lists that servers offer.
type Kind struct {
	Method string // JSON-RPC method that lists
	Member string // member of its result that holds the entries
	key    string // member of an entry that names it
	rename bool   // whether the key may be changed to keep names apart

	Pins pins.Kind // of the entries' definitions
}

// The four lists of MCP.
var (
	Tools     = Kind{"tools/list", "tools", "name", true, pins.Tools}
	Prompts   = Kind{"prompts/list", "prompts", "name", true, pins.Prompts}
	Resources = Kind{"resources/list", "resources", "uri", false, pins.Resources}
	Templates = Kind{"resources/templates/list", "resourceTemplates", "uriTemplate", false, pins.Templates}
)

// A Source is the answer of one server: the raw results of its list method, page by page, free of duplicate names.
type Source struct {
	Server  string
	Trust   contract.Trust
	Overlay *overlay.Overlay // the operator's overlay of the server; nil: none
	Pages   []json.RawMessage
	Words   annotation.Words // the annotations that are read of its tools, and written to hosts
	Held    map[string]Held  // entries that hosts must not be shown as they are, by name
	Listing *guard.Listing   // which tools hosts are told of; nil: all

	Confirmed map[string]trace.Confirmed // the parts of arguments that a person has confirmed, by tool
}

// With returns the source with one more page, which lists entries of a kind.
func (s Source) With(kind Kind, entries []json.RawMessage) Source {
	page, err := json.Marshal(map[string][]json.RawMessage{kind.Member: append([]json.RawMessage{}, entries...)})
	if err != nil {
		page = nil // the entries are no JSON: there is no list
	}
	s.Pages = append(slices.Clip(s.Pages), page)
	return s
}

// Held says that a definition is not the one that was accepted.
type Held struct {
	Accepted json.RawMessage // the entry as it was accepted; nil if it never was
	Why      string          // it must not be used, for people; "" if it may
}

// An Entry is one tool, resource, template or prompt.
type Entry struct {
	Server    string
	Trust     contract.Trust
	Name      string          // on its server
	Shown     string          // to the host
	Raw       json.RawMessage // as the host sees it
	Said      json.RawMessage // as its server wrote it, or as it was accepted if that differs
	Overlay   *overlay.Tool   // the operator's overlay of it; nil: none
	Declared  contract.Contract
	Effective contract.Contract // for any arguments

	Resolvable bool   // the server says that it can resolve the tool's contract for arguments
	Held       string // why it must not be called although it is shown; "" if it may

	Confirmed trace.Confirmed // the parts of a tool's arguments, as a person has confirmed them

	unlisted bool // hosts are not told of it, and a call is decided as any other
}

// A Defect is something in a server's list that is not as it should be.
type Defect struct {
	Server string
	Name   string // of the entry; empty if it has none
	annotation.Defect
}

// An Omission is a tool that hosts are not told of, although its server offers it.
type Omission struct {
	Server string
	Name   string // on its server
	By     guard.Omitted
}

// A List is an immutable snapshot of a merged list. The zero List is empty.
type List struct {
	kind    Kind
	entries []Entry
	omitted []Omission
	shown   map[string]int
	result  json.RawMessage
	tools   *detect.Tools
}

// Build merges the sources, in their order.
func Build(kind Kind, sources []Source) (*List, []Defect) {
	l := &List{kind: kind, shown: map[string]int{}}
	var defects []Defect
	for _, s := range sources {
		for _, page := range s.Pages {
			defects = append(defects, l.read(s, page)...)
		}
	}
	l.nameApart()
	defects = append(defects, l.index()...)
	l.result = l.merge(sources)
	l.tools = l.named()
	return l, defects
}

// read adds the entries of one page.
func (l *List) read(s Source, page json.RawMessage) (defects []Defect) {
	report := func(name, where, reason string) {
		defects = append(defects, Defect{s.Server, name, annotation.Defect{Where: where, Reason: reason}})
	}
	list, ok := rawjson.Get(page, l.kind.Member)
	if !ok || rawjson.Kind(list) != '[' {
		report("", l.kind.Member, "the list is missing or not an array")
		return defects
	}
	for raw := range rawjson.Elements(list) {
		key, ok := rawjson.Get(raw, l.kind.key)
		name, isString := "", false
		if ok {
			name, isString = rawjson.String(key)
		}
		if !isString || name == "" {
			report("", l.kind.Member+"[]."+l.kind.key, "an entry has no "+l.kind.key+" and is left out")
			continue
		}
		for _, d := range poisoned(raw) {
			defects = append(defects, Defect{s.Server, name, d})
		}
		e := Entry{Server: s.Server, Trust: s.Trust, Name: name, Shown: name, Raw: raw}
		if h, held := s.Held[name]; held {
			if h.Why != "" {
				report(name, l.kind.Member+"[]", h.Why)
			}
			if h.Accepted == nil {
				continue
			}
			e.Raw, e.Held = h.Accepted, h.Why
		}
		e.Said, e.Confirmed = e.Raw, s.Confirmed[name]
		e.Overlay = said(s.Overlay, l.kind, name)
		found := e.contract(l.kind, s.Words)
		for _, d := range found {
			defects = append(defects, Defect{s.Server, name, d})
		}
		if by := s.omits(l.kind, &e); by != "" {
			l.omitted = append(l.omitted, Omission{s.Server, name, by})
			if by != guard.AlwaysBlocked {
				continue
			}
			e.unlisted = true
		}
		l.entries = append(l.entries, e)
	}
	return defects
}

// omits returns why hosts are not told of an entry; "" if they are.
func (s *Source) omits(kind Kind, e *Entry) guard.Omitted {
	if s.Listing == nil || kind.Method != Tools.Method {
		return ""
	}
	return s.Listing.Omits(&guard.Call{
		Server: e.Server, Trust: e.Trust, Method: "tools/call", Name: e.Name, Declared: e.Declared, Effective: e.Effective, Overlay: e.Overlay,
	}, e.Resolvable)
}

// said returns the operator's overlay of an entry; nil for a template, whose URIs have overlays of their own when
// they are read.
func said(o *overlay.Overlay, kind Kind, name string) *overlay.Tool {
	switch kind.Method {
	case Tools.Method:
		return o.Tool(name)
	case Prompts.Method:
		return o.Prompt(name)
	case Resources.Method:
		return o.Resource(name)
	}
	return nil
}

// poisoned reports the parts of an entry that should be in no text for a model. It decides nothing.
func poisoned(raw json.RawMessage) (defects []annotation.Defect) {
	for _, f := range detect.Definitions().Scan(raw, detect.JSON, nil).Findings {
		certain := f.Confidence == detect.High && f.Class == detect.Credentials
		if certain || f.Class == detect.Injection && f.Level() != detect.Note { // honest descriptions name places of secrets, too
			defects = append(defects, annotation.Defect{Where: f.Path, Reason: "at byte " + strconv.Itoa(f.Offset) + ": " + f.Why})
		}
	}
	return defects
}

// contract reads the contract that the entry declares, and shows the effective one. A declaration that is worse than
// the operator's overlay changes nothing, and is a defect.
func (e *Entry) contract(kind Kind, words annotation.Words) (defects []annotation.Defect) {
	switch kind.Method {
	case Tools.Method:
		e.Declared, defects = words.Reader.ReadTool(e.Raw)
	case Resources.Method: // to read one that its server lists changes nothing, by protocol
		e.Effective = contract.Overlaid(e.Overlay.Static().Over(contract.Reading()), e.Declared, e.Trust).Raise(e.Overlay.Drafted())
		return nil
	default:
		e.Declared = contract.Offered(e.Trust)
	}
	e.Effective = e.Overlay.Effective(e.Declared, e.Trust)
	if kind.Method != Tools.Method {
		return nil
	}
	for _, member := range e.Overlay.Static().Narrows(e.Declared) {
		defects = append(defects, annotation.Defect{Where: "annotations." + member, Reason: "the tool declares worse than the overlay says of it"})
	}
	extension, core := annotation.Resolvable(e.Raw)
	e.Resolvable = extension || core
	shown, err := words.ToHosts.WriteTool(e.Raw, e.Effective.Told(e.Declared))
	if err != nil {
		return append(defects, annotation.Defect{Where: "annotations", Reason: err.Error()})
	}
	e.Raw = shown
	return defects
}

// At returns the entry of a template or a server for the resource at a URI.
func (e Entry) At(uri string, o *overlay.Overlay) Entry {
	e.Name, e.Shown, e.Declared, e.Overlay = uri, uri, contract.Offered(e.Trust), o.Resource(uri)
	e.Effective = e.Overlay.Effective(e.Declared, e.Trust)
	return e
}

// nameApart prefixes the names by which more than one server would be shown, until none is left: a server cannot take
// the name that another's tool was given.
func (l *List) nameApart() {
	if !l.kind.rename {
		return
	}
	for again := true; again; {
		again = false
		owner := map[string]string{}
		shared := map[string]bool{}
		for _, e := range l.entries {
			if first, ok := owner[e.Shown]; ok && first != e.Server {
				shared[e.Shown] = true
			}
			owner[e.Shown] = e.Server
		}
		for i := range l.entries {
			if e := &l.entries[i]; shared[e.Shown] && e.Shown == e.Name {
				e.Shown = e.Server + "__" + e.Name
				again = true
			}
		}
	}
}

// index makes every entry findable under the name it is shown by. Of two with one name the first stays.
func (l *List) index() (defects []Defect) {
	kept := l.entries[:0]
	for _, e := range l.entries {
		if _, taken := l.shown[e.Shown]; taken {
			defects = append(defects, Defect{e.Server, e.Name, annotation.Defect{
				Where: l.kind.Member + "[]." + l.kind.key, Reason: "another entry has the same name; this one is left out",
			}})
			continue
		}
		if e.Shown != e.Name {
			raw, err := rawjson.Set(e.Raw, rawjson.Quote(e.Shown), l.kind.key)
			if err != nil {
				continue
			}
			e.Raw = raw
		}
		l.shown[e.Shown] = len(kept)
		kept = append(kept, e)
	}
	l.entries = kept
	return defects
}

// merge writes the result that the host gets. Members that a single server adds to its list result stay.
func (l *List) merge(sources []Source) json.RawMessage {
	var list []byte
	list = append(list, '[')
	for e := range l.All() {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, e.Raw...)
	}
	list = append(list, ']')
	result := []byte(`{}`)
	if len(sources) == 1 && len(sources[0].Pages) > 0 {
		result = rawjson.Delete(sources[0].Pages[0], "nextCursor")
	} else {
		result = strictestCaching(result, sources)
	}
	merged, err := rawjson.Set(result, list, l.kind.Member)
	if err != nil {
		return []byte(`{"` + l.kind.Member + `":` + string(list) + `}`)
	}
	return merged
}

// strictestCaching states the shortest ttlMs and the narrowest cacheScope of all pages, if any states one.
func strictestCaching(result []byte, sources []Source) []byte {
	ttl, private, stated := int64(-1), false, false
	for _, s := range sources {
		for _, page := range s.Pages {
			raw, ok := rawjson.Get(page, "ttlMs")
			if !ok {
				continue
			}
			stated = true
			if n, err := strconv.ParseInt(string(raw), 10, 64); err != nil || n < 0 {
				ttl = 0
			} else if ttl < 0 || n < ttl {
				ttl = n
			}
			scope, _ := rawjson.Get(page, "cacheScope")
			private = private || string(scope) != `"public"`
		}
	}
	if !stated {
		return result
	}
	scope := "public"
	if private {
		scope = "private"
	}
	return []byte(`{"ttlMs":` + strconv.FormatInt(ttl, 10) + `,"cacheScope":"` + scope + `"}`)
}

// Len returns the number of entries that hosts see.
func (l *List) Len() (n int) {
	for range l.All() {
		n++
	}
	return n
}

// Omitted returns the tools that hosts are not told of, in the order of the sources.
func (l *List) Omitted() []Omission { return l.omitted }

// All iterates over the entries, in the order in which hosts see them.
func (l *List) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, e := range l.entries {
			if !e.unlisted && !yield(e) {
				return
			}
		}
	}
}

// named returns the tools of the list as detection knows them. Only a server that the operator knows may have
// the names of its tools count in the others' texts.
func (l *List) named() *detect.Tools {
	if l.kind.Method != Tools.Method {
		return nil
	}
	all := make([]detect.Tool, len(l.entries))
	for i, e := range l.entries {
		all[i] = detect.Tool{
			Name: e.Name, Acts: e.Effective.ReadOnly != contract.Yes, Source: e.Server, Vouched: e.Trust == contract.Known || e.Trust == contract.Trusted,
		}
	}
	return detect.NewTools(all)
}

// Named returns the tools of the list for the search of texts that an agent reads; nil of another list.
func (l *List) Named() *detect.Tools { return l.tools }

// Result returns the raw result of the list method, in one page.
func (l *List) Result() json.RawMessage { return l.result }

// Show changes the result as a function does, before any host gets it. Entries keep the names by which servers know
// them.
func (l *List) Show(as func(json.RawMessage) (json.RawMessage, error)) error {
	shown, err := as(l.result)
	if err == nil {
		l.result = shown
	}
	return err
}

// Find returns the entry that the host knows by this name or URI.
func (l *List) Find(shown string) (Entry, bool) {
	if l == nil {
		return Entry{}, false
	}
	i, ok := l.shown[shown]
	if !ok {
		return Entry{}, false
	}
	return l.entries[i], true
}

// Match returns the template whose literal beginning is the longest that uri begins with. A URI belongs to the server
// that announced its family; nothing is guessed beyond that.
func (l *List) Match(uri string) (Entry, bool) {
	best, found := Entry{}, false
	length := 0
	for _, e := range l.entries {
		prefix, _, _ := strings.Cut(e.Name, "{")
		if len(prefix) > length && strings.HasPrefix(uri, prefix) {
			best, found, length = e, true, len(prefix)
		}
	}
	return best, found
}
