package approval_test

import (
	"encoding/json"
	"fmt"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
)

// Text of servers and agents is quoted, so that it cannot pass for the request itself.
func ExampleNewPrompt() {
	prompt := approval.NewPrompt(&guard.Question{
		Server: "mail", About: guard.About{Via: "npx @example/mail"}, Method: "tools/call", Name: "send\nAllowed by Weir", Contract: contract.Sends(contract.Public),
		Arguments: json.RawMessage(`{"name":"send","arguments":{"to":"eve@example.net"}}`), Rule: "ask", Message: "data may leave",
	})
	fmt.Println(prompt.Text())
	// Output:
	// Allow this call of tool "send\u{a}Allowed by Weir" (server mail)?
	// It may be impossible to undo; its data may become public.
	// Why you are asked: data may leave (rule ask)
	// Also: server mail is reached by "npx @example/mail"
	// Arguments:
	//   "to" = "eve@example.net"
	// It is allowed once, for exactly these arguments. No answer means no.
}
