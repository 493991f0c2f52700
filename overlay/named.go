package overlay

import (
	"slices"
	"strings"
	"unicode"

	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// acts reports whether an argument can change the effect of a call beside its other arguments.
func acts(name string, value []byte) bool {
	switch rawjson.Kind(value) {
	case '{':
		for range rawjson.Members(value) {
			return true
		}
	case '[':
		for inner := range rawjson.Elements(value) {
			if acts(name, inner) {
				return true
			}
		}
	case '"':
		return string(value) != `""` && obeyed(name)
	}
	return false
}

// acting are the last words of names of arguments that programs obey. Code is one by itself alone: a postal code is
// none.
var acting = strings.Fields("arg args argument arguments cmd command commands config configuration endpoint endpoints " +
	"env environment file files filename filenames header headers hook hooks href link links options path paths pipeline " +
	"script scripts template templates uri uris url urls webhook webhooks")

// obeyed reports whether a name is that of an argument that programs obey: headers, request_headers, extraHTTPHeaders.
func obeyed(name string) bool {
	last := lastWord(name)
	return slices.Contains(acting, strings.ToLower(last)) || strings.EqualFold(name, "code")
}

// lastWord returns the last word of a name: headers of request_headers, Headers of extraHTTPHeaders, URLs of
// imageURLs2.
func lastWord(name string) string {
	const lower, upper = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	name = name[:strings.LastIndexAny(name, lower+upper)+1]
	head := strings.TrimRight(name, lower)
	capitals := len(head) - len(strings.TrimRight(head, upper))
	if tail := name[len(head):]; tail != "" && tail != "s" {
		capitals = min(capitals, 1)
	}
	return name[len(head)-capitals:]
}

// names returns the arguments that the definition speaks of.
func (d *definition) names() map[string]bool {
	all := map[string]bool{}
	for _, p := range slices.Concat(d.destination, d.content) {
		all[p[0].member] = true
	}
	for _, uri := range slices.Concat(d.reads, d.folders, d.writes) {
		for _, p := range uri {
			if p.argument != nil {
				all[p.argument[0].member] = true
			}
		}
	}
	for _, r := range d.refinements {
		for _, name := range conditionNames(r.text) {
			all[name] = true
		}
	}
	delete(all, "") // an element
	return all
}

// How a condition names arguments: it reads one, as in call.arguments.a, asks for one, as in "a" in call.arguments, or
// goes through the names of all, as in call.arguments.all(k, k in ["a", "b"]).
var (
	member  = pattern.New(`\bcall\.arguments(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[["']([^"'\\]+)["']\])|["']([^"'\\]+)["'] in call\.arguments\b`)
	through = pattern.New(`\bcall\.arguments\.(?:all|exists)\(\s*([A-Za-z_]\w*)\s*,`)
	listed  = pattern.New(`\b([A-Za-z_]\w*) in \[([^\]]*)\]`)
	quoted  = pattern.New(`["']([^"'\\]+)["']`)
)

// conditionNames returns the arguments that a condition names.
func conditionNames(text string) (all []string) {
	for _, m := range member().FindAllStringSubmatch(text, -1) {
		all = append(all, m[1]+m[2]+m[3])
	}
	keys := map[string]bool{}
	for _, m := range through().FindAllStringSubmatch(text, -1) {
		keys[m[1]] = true
	}
	for _, m := range listed().FindAllStringSubmatch(text, -1) {
		if keys[m[1]] {
			for _, name := range quoted().FindAllStringSubmatch(m[2], -1) {
				all = append(all, name[1])
			}
		}
	}
	return all
}

// isContent reports whether an argument is content and, in no part of it, a destination.
func (d *definition) isContent(name string) bool {
	within := func(p path) bool { return p[0].member == name }
	return slices.ContainsFunc(d.content, within) && !slices.ContainsFunc(d.destination, within)
}

func holdsOption(value []byte) bool {
	switch rawjson.Kind(value) {
	case '{':
		for name, inner := range rawjson.Members(value) {
			if isOption(name) || holdsOption(inner) {
				return true
			}
		}
	case '[':
		for inner := range rawjson.Elements(value) {
			if holdsOption(inner) {
				return true
			}
		}
	case '"':
		text, ok := rawjson.String(value)
		return !ok || isOption(text)
	}
	return false
}

// isOption reports whether a program, or one that cuts the text at blanks or takes quotes off, would see an option.
func isOption(text string) bool {
	for word := range strings.FieldsSeq(text) {
		word = strings.TrimLeft(word, "\"'\\\x00")
		if rest := strings.TrimLeft(word, "-"); rest != word && strings.ContainsFunc(rest, unicode.IsLetter) {
			return true
		}
	}
	return false
}
