package mcptool

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
)

const methodCall = "tools/call"

// declared returns the declaration of a tool, if it has one.
func (t *Tools) declared(name string) (declared, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d, ok := t.by[name]
	return d, ok
}

// annotatedList is a result of tools/list that is encoded with the contracts, for which the SDK's type has no room.
type annotatedList struct {
	*mcp.ListToolsResult
	tools *Tools
}

// MarshalJSON implements [json.Marshaler].
func (l *annotatedList) MarshalJSON() ([]byte, error) {
	entries := make([]json.RawMessage, len(l.Tools))
	for i, tool := range l.Tools {
		raw, err := json.Marshal(tool)
		if err != nil {
			return nil, fmt.Errorf("encoding tool %q: %w", tool.Name, err)
		}
		if entries[i], err = l.tools.annotated(tool.Name, raw); err != nil {
			return nil, err
		}
	}
	bare := *l.ListToolsResult
	bare.Tools = []*mcp.Tool{}
	raw, err := json.Marshal(&bare)
	if err != nil {
		return nil, fmt.Errorf("encoding the list: %w", err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("encoding the list: %w", err)
	}
	if members["tools"], err = json.Marshal(entries); err != nil {
		return nil, fmt.Errorf("encoding the list: %w", err)
	}
	return json.Marshal(members)
}

// annotated returns the encoded tool with its contract, if it has one here.
func (t *Tools) annotated(name string, raw json.RawMessage) (json.RawMessage, error) {
	d, ok := t.declared(name)
	if !ok {
		return raw, nil
	}
	out, err := writeTool(raw, d.contract)
	if err != nil {
		return nil, fmt.Errorf("annotating tool %q: %w", name, err)
	}
	return out, nil
}

// writeTool writes the contract into a tool. One that is not read again as it is written cannot be said: to leave out
// part of it would promise clients more than the author does.
func writeTool(tool []byte, c contract.Contract) ([]byte, error) {
	out, err := annotation.WriteTool(tool, c)
	if err != nil {
		return nil, err
	}
	said, defects := annotation.ReadTool(out)
	switch {
	case len(defects) > 0:
		return nil, fmt.Errorf("the contract has no words in the vocabularies: %v", defects[0])
	case !said.Equal(c):
		return nil, fmt.Errorf("the contract has no words in the vocabularies: %v would be read as %v", c, said)
	}
	return out, nil
}

// marked returns the tool with the mark of a resolvable one.
func marked(tool *mcp.Tool) *mcp.Tool {
	own := *tool
	own.Meta = maps.Clone(own.Meta)
	if own.Meta == nil {
		own.Meta = mcp.Meta{}
	}
	own.Meta[annotation.ResolutionExtension] = map[string]any{"resolvable": true}
	return &own
}
