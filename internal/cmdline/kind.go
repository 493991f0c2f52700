package cmdline

import (
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// A kind tells which files a program may look for by a word. A row that does not say it has paths.
type kind uint8

const (
	ofPath     kind = iota
	ofText          // none
	ofName          // none: the word is a plain name, which leads nowhere even as a part of a path
	ofPackages      // folders of packages of Go, with ... for any text
	ofTests         // a file with tests in it, for pytest
	ofModules       // a path, or a module of Python
	ofSpecs         // a path with magic words of git in front
)

// plainName matches values that hold no separator of a path, of properties or of a list.
var plainName = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_ .+~=|&!():-]*$`)

// values are options that need a value, by the kind of the value.
type values struct{ texts, names, paths words }

func texts(options words) values { return values{texts: options} }

// kindOf returns the kind of the value of an option.
func (v values) kindOf(option string) kind {
	for k, set := range map[kind]words{ofText: v.texts, ofName: v.names} {
		if set.has(option) || set.has(option+"=") {
			return k
		}
	}
	return ofPath
}

// paths returns the files and folders that a program may look for by a word.
func (k kind) paths(word string) []string {
	switch k {
	case ofText, ofName:
		return nil
	case ofPackages:
		before, _, many := strings.Cut(word, "...")
		if many && !strings.HasSuffix(before, "/") {
			before += "*"
		}
		return []string{before}
	case ofTests:
		base, _, _ := strings.Cut(word, "[")
		base, _, _ = strings.Cut(base, "::")
		whole, _, _ := strings.Cut(word, "::")
		return alternatives(whole, base)
	case ofModules:
		if strings.Contains(word, "/") {
			return []string{word}
		}
		return alternatives(word, strings.ReplaceAll(strings.Trim(word, "."), ".", "/"))
	case ofSpecs:
		spec, magic := strings.CutPrefix(word, ":")
		if !magic {
			return []string{word}
		}
		if _, behind, long := strings.Cut(spec, ")"); long && strings.HasPrefix(spec, "(") {
			return alternatives(word, behind)
		}
		return alternatives(word, strings.TrimPrefix(strings.TrimLeft(spec, "/!^"), ":"))
	}
	return []string{word}
}

// alternatives returns both readings of a word, once if they are the same.
func alternatives(word, other string) []string {
	if other == word || other == "" {
		return []string{word}
	}
	return []string{word, other}
}
