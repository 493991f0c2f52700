package catalogue_test

import (
	"fmt"

	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/overlay/catalogue"
)

func ExampleFor() {
	o, err := catalogue.For(overlay.Server{Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "/work"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.Tool("read_file").Static().ReadOnly)
	// Output: yes
}
