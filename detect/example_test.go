package detect_test

import (
	"fmt"

	"github.com/weir-mcp/weir/detect"
)

func ExampleScanner_Scan() {
	text := []byte(`{"note":"pay to GB82 WEST 1234 5698 7654 32"}`)
	for _, f := range detect.New().Scan(text, detect.JSON, nil).Findings {
		fmt.Println(f.Class, f.Path)
	}
	// Output: financial /note
}

func ExampleScanner_Redact() {
	out, ok := detect.New().Redact([]byte("pay to GB82 WEST 1234 5698 7654 32"), detect.Plain, func(detect.Finding) bool { return true })
	fmt.Println(string(out), ok)
	// Output: pay to [redacted:iban] true
}
