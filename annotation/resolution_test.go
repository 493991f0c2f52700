package annotation_test

import (
	"testing"

	"github.com/weir-mcp/weir/annotation"
)

func TestResolvable(t *testing.T) {
	for tool, want := range map[string][2]bool{
		`{"_meta":{"io.modelcontextprotocol/tool-resolution":{"resolvable":true}}}`: {true, false},
		`{"resolve":true}`: {false, true},
		`{"resolve":true,"_meta":{"io.modelcontextprotocol/tool-resolution":{"resolvable":true}}}`: {true, true},
		`{"_meta":{"io.modelcontextprotocol/tool-resolution":{"resolvable":"true"}}}`:              {false, false},
		`{"_meta":{"io.modelcontextprotocol/tool-resolution":true}}`:                               {false, false},
		`{"resolve":1}`:       {false, false},
		`{"resolvable":true}`: {false, false},
		``:                    {false, false},
	} {
		if extension, core := annotation.Resolvable([]byte(tool)); [2]bool{extension, core} != want {
			t.Errorf("%s: %v %v, want %v", tool, extension, core, want)
		}
	}
}
