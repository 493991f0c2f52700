package catalog

import (
	"encoding/json"
	"strconv"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// serverInfo is where servers of 2026-07-28 say in the metadata of a result who they are.
const serverInfo = "io.modelcontextprotocol/serverInfo"

// Offer returns the definitions in a source's list, with the other members of the list result.
func (s Source) Offer(kind Kind) pins.Offer {
	var list []json.RawMessage
	for _, page := range s.Pages {
		part, _ := rawjson.Get(page, kind.Member)
		for entry := range rawjson.Elements(part) {
			list = append(list, entry)
		}
	}
	entries := kind.Pins.Entries(list)
	if len(s.Pages) > 0 {
		if beside := besides(kind, s.Pages[0]); len(beside) > 0 {
			entries[pins.Beside] = beside
		}
	}
	return pins.Offer{Server: s.Server, Kind: kind.Pins, Entries: entries}
}

// besides returns the members of a list result other than its entries, but for those that hold no text.
func besides(kind Kind, page json.RawMessage) pins.Definition {
	out := pins.Definition{}
	for name, raw := range rawjson.Members(page) {
		switch {
		case name == kind.Member, name == "nextCursor": // which hosts do not see
		case wordless(name, raw):
		case name == "_meta":
			meta := nameless(raw)
			if string(meta) != "{}" {
				out[name] = rawjson.Canonical(meta)
			}
			if info, ok := rawjson.Get(raw, serverInfo); ok {
				out["serverInfo"] = rawjson.Canonical(plainVersion(info))
			}
		default:
			out[name] = rawjson.Canonical(raw)
		}
	}
	return out
}

// wordless reports whether a member of a result says nothing but how long and for whom it holds.
func wordless(name string, raw json.RawMessage) bool {
	switch name {
	case "ttlMs":
		_, err := strconv.ParseFloat(string(raw), 64)
		return err == nil
	case "cacheScope":
		return string(raw) == `"public"` || string(raw) == `"private"`
	case "resultType":
		return string(raw) == `"complete"`
	}
	return false
}

// nameless returns the metadata of a result without who the server is, which is pinned apart from its version.
func nameless(meta json.RawMessage) json.RawMessage { return rawjson.Delete(meta, serverInfo) }

// Self returns a server's description of itself in its handshake, but for its instructions: names, titles, icons, and
// the words in its capabilities. It is the same in both eras of the protocol, and in the next version of the server.
func Self(said json.RawMessage) pins.Definition {
	out := pins.Definition{}
	set := func(name string, raw json.RawMessage) {
		if raw = rawjson.Canonical(raw); string(raw) != "{}" {
			out[name] = raw
		}
	}
	for name, raw := range rawjson.Members(said) {
		if wordless(name, raw) {
			continue
		}
		switch name {
		case "instructions", "protocolVersion", "supportedVersions": // the first is pinned apart, hosts see others of the rest
		case "serverInfo":
			set(name, plainVersion(raw))
		case "_meta":
			if info, ok := rawjson.Get(raw, serverInfo); ok {
				set("serverInfo", plainVersion(info))
			}
			set(name, nameless(raw))
		case "capabilities":
			set(name, wordsIn(raw))
		default:
			set(name, raw)
		}
	}
	return out
}

// version is a version that can be nothing else.
var version = pattern.New(`^"[0-9A-Za-z.+_-]{1,40}"$`)

// plainVersion returns a server's description of its implementation without its version, if that is one.
func plainVersion(info json.RawMessage) json.RawMessage {
	if raw, _ := rawjson.Get(info, "version"); version().Match(raw) {
		return rawjson.Delete(info, "version")
	}
	return info
}

// flags are the members of capabilities that say nothing but that something is there (2025-11-25 and 2026-07-28,
// ServerCapabilities).
var flags = pattern.New(`^(?:tools|prompts|resources|logging|completions|tasks|extensions|experimental|listChanged|subscribe|resolve|` +
	`list|cancel|requests|call|io\.modelcontextprotocol/[a-z-]{1,30})$`)

// wordsIn returns the capabilities that could say something, and the kinds of lists that there are: a server that
// offers a new kind is another one than was first seen.
func wordsIn(capabilities json.RawMessage) json.RawMessage {
	out := beyondFlags(capabilities)
	for _, list := range []string{"tools", "prompts", "resources"} {
		if _, ok := rawjson.Get(capabilities, list); !ok {
			continue
		}
		if _, words := rawjson.Get(out, list); words {
			continue
		}
		if more, err := rawjson.Set(out, []byte(`{}`), list); err == nil {
			out = more
		}
	}
	return out
}

// beyondFlags returns a value without its flags; {} if nothing else is in it.
func beyondFlags(value json.RawMessage) json.RawMessage {
	switch rawjson.Kind(value) {
	case 't', 'f', 'n':
		return json.RawMessage(`{}`)
	case '{':
	default:
		return value
	}
	out := json.RawMessage(`{}`)
	for name, inner := range rawjson.Members(value) {
		inner = beyondFlags(inner)
		if string(inner) == "{}" && flags().MatchString(name) {
			continue
		}
		if more, err := rawjson.Set(out, inner, name); err == nil {
			out = more
		}
	}
	return out
}
