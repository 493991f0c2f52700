package conformance_test

import (
	"fmt"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/conformance"
)

// An implementation is held to the vectors: here package annotation, to whether results are untrusted and private.
func ExampleFiles() {
	files, err := conformance.Files()
	if err != nil {
		panic(err)
	}
	wrong := 0
	for _, file := range files {
		for _, v := range file.Read {
			if v.Place != "result" || len(file.Meanings) > 0 { // those are of an organisation's own words
				continue
			}
			claim, _ := annotation.ReadResult(v.Document)
			if claim.Label.Untrusted != v.Label.Untrusted || claim.Label.Private != v.Label.Private {
				fmt.Println(file.Dialect, v.Name)
				wrong++
			}
		}
	}
	fmt.Println(wrong, "wrong")
	// Output: 0 wrong
}
