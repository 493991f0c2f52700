package install

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// pluginText is the program by which a host without hooks asks Weir.
//
//go:embed plugin.js
var pluginText string

// isPlugin reports whether a file is a plugin that Weir wrote, whoever has changed it since.
func isPlugin(text []byte) bool {
	first, _, _ := strings.Cut(pluginText, "\n")
	return strings.HasPrefix(string(text), first+"\n")
}

// renderPlugin returns the plugin that runs a program with arguments.
func renderPlugin(exe string, args []string) ([]byte, error) {
	program, err := json.Marshal(exe)
	if err != nil {
		return nil, err
	}
	options, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	text := strings.Replace(pluginText, `["@options@"]`, string(options), 1)
	return []byte(strings.Replace(text, `"@program@"`, string(program), 1)), nil
}

// LoadsCode reports whether a file of a project may have the host run programs in its own process.
func LoadsCode(src []byte) bool {
	for _, member := range []string{"plugin", "plugins"} {
		if list, ok := rawjson.Get(src, member); ok && string(rawjson.Canonical(list)) != "[]" {
			return true
		}
	}
	return false
}

// changedLines returns the lines that only one of two texts has.
func changedLines(before, after []byte) (lines []string) {
	old, now := strings.Split(string(before), "\n"), strings.Split(string(after), "\n")
	for _, side := range []struct {
		sign      string
		all, rest []string
	}{{"-", old, now}, {"+", now, old}} {
		for _, line := range side.all {
			if !slices.Contains(side.rest, line) {
				lines = append(lines, side.sign+" "+line)
			}
		}
	}
	return lines
}
