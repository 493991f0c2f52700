package servers

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// annotated is a transport that adds the contracts to the tools in answers to tools/list.
type annotated struct {
	mcp.Transport
	contracts map[string]contract.Contract // by tool name
}

// Connect implements [mcp.Transport].
func (t *annotated) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &annotatedConn{Connection: conn, contracts: t.contracts, lists: make(map[jsonrpc.ID]bool)}, nil
}

type annotatedConn struct {
	mcp.Connection
	contracts map[string]contract.Contract

	mu    sync.Mutex
	lists map[jsonrpc.ID]bool // the requests for tools/list that are not answered yet
}

// Read implements [mcp.Connection].
func (c *annotatedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if req, ok := msg.(*jsonrpc.Request); ok && err == nil && req.Method == "tools/list" {
		c.mu.Lock()
		c.lists[req.ID] = true
		c.mu.Unlock()
	}
	return msg, err
}

// Write implements [mcp.Connection].
func (c *annotatedConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	res, ok := msg.(*jsonrpc.Response)
	if !ok || !c.isList(res.ID) || res.Error != nil {
		return c.Connection.Write(ctx, msg)
	}
	result, err := spliceTools(res.Result, c.contracts)
	if err != nil {
		return fmt.Errorf("annotating tools: %w", err)
	}
	return c.Connection.Write(ctx, &jsonrpc.Response{ID: res.ID, Result: result, Extra: res.Extra})
}

// isList reports whether id is that of a request for tools/list, once.
func (c *annotatedConn) isList(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok := c.lists[id]
	delete(c.lists, id)
	return ok
}

// spliceTools adds its contract to each tool of a result of tools/list. The proposal's own tools are as it has them.
func spliceTools(result []byte, contracts map[string]contract.Contract) ([]byte, error) {
	list, ok := rawjson.Get(result, "tools")
	if !ok {
		return result, nil
	}
	var tools [][]byte
	for tool := range rawjson.Elements(list) {
		raw, _ := rawjson.Get(tool, "name")
		name, _ := rawjson.String(raw)
		if definition, ok := verbatim(name); ok {
			tool = definition
		} else if declared, ok := contracts[name]; ok {
			var err error
			if tool, err = annotation.WriteTool(tool, declared); err != nil {
				return nil, fmt.Errorf("tool %q: %w", name, err)
			}
		}
		tools = append(tools, tool)
	}
	joined := append(append([]byte{'['}, bytes.Join(tools, []byte{','})...), ']')
	return rawjson.Set(result, joined, "tools")
}
