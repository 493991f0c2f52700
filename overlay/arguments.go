package overlay

import (
	"net/url"
	stdpath "path"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// Limits of the values taken out of the arguments of one call.
const (
	maxValues    = 1024 // of one role
	maxResources = 64   // of one template
)

// An Argument is one value among the arguments of a call.
type Argument struct {
	Path string `json:"path"` // as "to[0].address"
	Text string `json:"text"` // a string's text; of any other scalar, its JSON
}

// Roles are the parts that the arguments of a call play.
type Roles struct {
	Known        bool       // whether anything is said; if not, every argument may be anything
	Destinations []Argument // where something goes
	Contents     []Argument // the content that goes there
	Cut          bool       // there were more values than are looked at
	Plain        bool       // there is nothing but these, and no name that the caller chose; see [Tool.Roles]
}

// Roles returns the parts that the arguments, a JSON object without duplicate names or nil, play in a call. They are
// plain if every member leads to one of them, also those that are null or empty, and each is a scalar or a list of
// texts. A destination may also be an object that holds its address, such as {"email": "ann@example.com"}, or a list
// of those.
func (t *Tool) Roles(arguments []byte) Roles {
	if t == nil {
		return Roles{}
	}
	i := slices.IndexFunc(t.layers, func(d *definition) bool { return d.roles })
	if i < 0 {
		return Roles{}
	}
	r := Roles{Known: true}
	r.Destinations = collect(arguments, t.layers[i].destination, &r.Cut)
	r.Contents = collect(arguments, t.layers[i].content, &r.Cut)
	r.Plain = !r.Cut && isPlain(arguments, t.layers[i].destination, t.layers[i].content)
	return r
}

// Names reports whether anything that is said of the tool speaks of the argument by this name. A part of an argument,
// as a.b, has no name.
func (t *Tool) Names(argument string) bool {
	return t != nil && slices.ContainsFunc(t.layers, func(d *definition) bool { return d.named()[argument] })
}

// Unspoken returns an argument of a call that acts and that nothing which is said of the tool names, though the parts
// of its arguments are stated: the author did not know of the argument, or forgot it. An argument acts if it is an
// object, has objects in it, or is a text or a list of texts whose name is that of one that programs obey, such as
// headers, command and url.
func (t *Tool) Unspoken(arguments []byte) (name string, ok bool) {
	if t == nil || !slices.ContainsFunc(t.layers, func(d *definition) bool { return d.roles }) {
		return "", false
	}
	for name, value := range rawjson.Members(arguments) {
		if !t.Names(name) && acts(name, value) {
			return name, true
		}
	}
	return "", false
}

// Option returns an argument of a call that holds an option for a program, where an entry says that the server starts
// programs with the arguments: a text, or one after a blank in it, that begins with a dash. Arguments that are content
// alone are none.
func (t *Tool) Option(arguments []byte) (name string, ok bool) {
	if t == nil {
		return "", false
	}
	for _, d := range t.layers {
		if !d.entry.programs {
			continue
		}
		for name, value := range rawjson.Members(arguments) {
			if !d.isContent(name) && holdsOption(value) || isOption(name) {
				return name, true
			}
		}
	}
	return "", false
}

// isPlain reports whether a value holds nothing but plain values at the ends of the paths.
func isPlain(value []byte, destinations, contents []path) bool {
	ends := func(p path) bool { return len(p) == 0 }
	kind := rawjson.Kind(value)
	switch {
	case kind == 'n' || kind == 0:
		return true
	case slices.ContainsFunc(contents, ends):
		return isValue(value, false)
	case slices.ContainsFunc(destinations, ends):
		return isValue(value, true)
	}
	inside := func(value []byte, name string, index int) bool {
		d, c := after(destinations, name, index), after(contents, name, index)
		return len(d)+len(c) > 0 && isPlain(value, d, c)
	}
	switch kind {
	case '{':
		for name, inner := range rawjson.Members(value) {
			if name == "" || !inside(inner, name, 0) {
				return false
			}
		}
		return true
	case '[':
		i := 0
		for inner := range rawjson.Elements(value) {
			if !inside(inner, "", i) {
				return false
			}
			i++
		}
		return true
	}
	return false
}

// after returns the rest of the paths that lead through a member, or an element if the name is "".
func after(paths []path, name string, index int) (rest []path) {
	for _, p := range paths {
		if p[0].member == name && (name != "" || p[0].index == every || p[0].index == index) {
			rest = append(rest, p[1:])
		}
	}
	return rest
}

// isValue reports whether a value is a scalar or a list of texts; an address may also be in an object.
func isValue(value []byte, address bool) bool {
	if rawjson.Kind(value) != '[' {
		return isScalar(value) || address && isAddress(value)
	}
	for inner := range rawjson.Elements(value) {
		if rawjson.Kind(inner) != '"' && !(address && isAddress(inner)) {
			return false
		}
	}
	return true
}

func isScalar(value []byte) bool { return !strings.ContainsRune("{[n\x00", rune(rawjson.Kind(value))) }

// addressNames are members of an object that stands for a recipient, as in {"emailAddress": {"address": "a@b.de"}}.
var addressNames = []string{"email", "address", "mailaddress", "emailaddress"}

// isAddress reports whether a value is an object that holds one address and nothing else.
func isAddress(value []byte) bool {
	n := 0
	for name, inner := range rawjson.Members(value) {
		known := slices.Contains(addressNames, strings.ReplaceAll(strings.ToLower(name), "_", ""))
		if n++; !known || rawjson.Kind(inner) != '"' && !isAddress(inner) {
			return false
		}
	}
	return n == 1
}

// collect returns the scalars that the paths lead to; of an object or a list, all in it.
func collect(arguments []byte, paths []path, cut *bool) []Argument {
	var all []Argument
	var take func(way string, value []byte) bool
	take = func(way string, value []byte) bool {
		switch rawjson.Kind(value) {
		case '{':
			for name, inner := range rawjson.Members(value) {
				if !take(way+"."+name, inner) {
					return false
				}
			}
			return true
		case '[':
			i := 0
			for inner := range rawjson.Elements(value) {
				if !take(way+"["+strconv.Itoa(i)+"]", inner) {
					return false
				}
				i++
			}
			return true
		case 'n', 0:
			return true
		}
		if len(all) == maxValues {
			*cut = true
			return false
		}
		all = append(all, Argument{way, scalarText(value)})
		return true
	}
	for _, p := range paths {
		if !p.walk(arguments, "", take) {
			break
		}
	}
	return all
}

// scalarText returns the text of a string, and the JSON of any other scalar.
func scalarText(value []byte) string {
	if s, ok := rawjson.String(value); ok {
		return s
	}
	return string(value)
}

// Resources are the resources that a call reads and writes, as URIs.
type Resources struct {
	Known  bool // whether anything is said
	Reads  []string
	Writes []string

	// Folders are those among Reads of which the call shows nothing that lies deeper than directly in them.
	Folders []string
}

// Resources returns the resources that a call with the arguments, a JSON object without duplicate names or nil, reads
// and writes. Where an argument is missing the URI has its place in braces, as in file://{path}: it could be any.
// Without an argument that is marked as optional, as in file://{path?}, there is no resource.
func (t *Tool) Resources(arguments []byte) Resources {
	if t == nil {
		return Resources{}
	}
	i := slices.IndexFunc(t.layers, func(d *definition) bool { return d.resource })
	if i < 0 {
		return Resources{}
	}
	d := t.layers[i]
	reads, folders := expand(d.reads, arguments), expand(d.folders, arguments)
	folders = slices.DeleteFunc(folders, func(uri string) bool { return slices.Contains(reads, uri) })
	return Resources{Known: true, Reads: slices.Concat(reads, folders), Writes: expand(d.writes, arguments), Folders: folders}
}

// expand returns the URIs of the templates: one for each combination of the values that the arguments have.
func expand(templates []template, arguments []byte) []string {
	var all []string
	for _, t := range templates {
		uris := []string{""}
		for _, p := range t {
			choices := []string{p.text}
			if p.argument != nil {
				choices = p.values(arguments, len(t) == 1)
			}
			var longer []string
			for _, uri := range uris {
				for _, choice := range choices {
					if len(longer) < maxResources {
						longer = append(longer, uri+choice)
					}
				}
			}
			uris = longer
		}
		all = append(all, uris...)
	}
	return all
}

// values returns the texts in the place of an argument in a URI; whole is whether the argument is the URI. Nil: there
// is no URI.
func (p part) values(arguments []byte, whole bool) []string {
	var cut bool
	var texts []string
	for _, v := range collect(arguments, []path{p.argument}, &cut) {
		if !whole {
			v.Text = escape(v.Text)
		}
		texts = append(texts, v.Text)
	}
	if texts == nil && p.optional {
		return nil
	}
	if texts == nil || cut || len(texts) > maxResources {
		return []string{"{" + p.text + "}"}
	}
	return texts
}

// escape writes a text as a part of a URI: slashes stay and dots between them are resolved, so that one file has one
// URI.
func escape(s string) string {
	if slices.ContainsFunc(strings.Split(s, "/"), func(name string) bool { return name == "." || name == ".." }) {
		s = stdpath.Clean(s)
	}
	return (&url.URL{Path: s}).EscapedPath()
}
