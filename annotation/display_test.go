package annotation_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/annotation"
)

func TestDisplayTemplate(t *testing.T) {
	long := strings.Repeat("x", 1001)
	for tool, want := range map[string]string{
		`{"_meta":{"io.modelcontextprotocol/display-templates":{"template":"set {bus} \u0041"}}}`: "set {bus} A",
		`{"_meta":{"io.modelcontextprotocol/display-templates":{"template":"` + long[1:] + `"}}}`: long[1:],
		`{"_meta":{"io.modelcontextprotocol/display-templates":{"template":"` + long + `"}}}`:     "",
		`{"_meta":{"io.modelcontextprotocol/display-templates":{"template":{"a":1}}}}`:            "",
		`{"_meta":{"io.modelcontextprotocol/display-templates":"x"}}`:                             "",
		`{"_meta":7}`: "",
		`{"annotations":{"io.modelcontextprotocol/display-templates":{"template":"x"}}}`: "",
		`[]`: "",
		``:   "",
	} {
		if got := annotation.DisplayTemplate([]byte(tool)); got != want {
			t.Errorf("%.80s: %.80q, want %.80q", tool, got, want)
		}
	}
}
