package mcptool

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
)

// methodResolve is the request that narrows a tool's contract to arguments (SEP-1862).
const methodResolve = "tools/resolve"

type resolveParams struct {
	mcp.ParamsBase
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// resolved is the answer in one of its two forms: of the core ({tool}) or of the extension (the other members).
type resolved struct {
	mcp.ResultBase
	Tool        *resolvedTool   `json:"tool,omitempty"`
	ResultType  string          `json:"resultType,omitempty"`
	Name        string          `json:"name,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

type resolvedTool struct {
	Meta        mcp.Meta        `json:"_meta,omitempty"`
	Name        string          `json:"name"`
	Annotations json.RawMessage `json:"annotations"`
}

// Resolve returns the contract of a call of the named tool with these arguments, as tools/resolve answers. Arguments
// that are outside of the tool's input schema, and a contract outside of its declaration, are errors.
func (t *Tools) Resolve(name string, arguments json.RawMessage) (contract.Contract, error) {
	d, ok := t.declared(name)
	if !ok || d.resolve == nil {
		return contract.Contract{}, invalid("no resolvable tool has the name %.100q", name)
	}
	return d.resolve(arguments)
}

// resolve answers tools/resolve.
func (t *Tools) resolve(_ context.Context, ss *mcp.ServerSession, p *resolveParams) (*resolved, error) {
	if p == nil {
		return nil, invalid("params are missing")
	}
	c, err := t.Resolve(p.Name, p.Arguments)
	if err != nil {
		return nil, err
	}
	annotations, meta, err := encoded(c)
	if err != nil {
		return nil, broken("resolving: %v", err)
	}
	if able := (&mcp.ServerRequest[*resolveParams]{Session: ss, Params: p}).ClientCapabilities(); able != nil {
		if _, ok := able.Extensions[annotation.ResolutionExtension]; ok {
			return &resolved{ResultBase: mcp.ResultBase{Meta: meta}, ResultType: "complete", Name: p.Name, Annotations: annotations}, nil
		}
	}
	return &resolved{Tool: &resolvedTool{meta, p.Name, annotations}}, nil
}

// encoded returns the annotations and the _meta of the contract. All four classic hints are there, as the extension has
// it.
func encoded(c contract.Contract) (json.RawMessage, mcp.Meta, error) {
	full := c.Assume()
	for _, h := range contract.Hints() {
		if h.Core {
			*h.Of(&c) = *h.Of(&full)
		}
	}
	tool, err := writeTool([]byte(`{}`), c)
	if err != nil {
		return nil, nil, err
	}
	var said struct {
		Annotations json.RawMessage `json:"annotations"`
		Meta        mcp.Meta        `json:"_meta"`
	}
	if err := json.Unmarshal(tool, &said); err != nil {
		return nil, nil, fmt.Errorf("encoding the contract: %w", err)
	}
	return said.Annotations, said.Meta, nil
}

// broken is the error of a server that breaks its own contract.
func broken(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// inputSchema returns the schema that arguments have to fit: the tool's own, or that of In.
func inputSchema[In any](tool *mcp.Tool) (*jsonschema.Resolved, error) {
	var schema *jsonschema.Schema
	switch own := tool.InputSchema.(type) {
	case nil:
		var err error
		if schema, err = jsonschema.ForType(reflect.TypeFor[In](), &jsonschema.ForOptions{}); err != nil {
			return nil, fmt.Errorf("inferring the input schema: %w", err)
		}
	case *jsonschema.Schema:
		schema = own
	default:
		raw, err := json.Marshal(own)
		if err != nil {
			return nil, fmt.Errorf("encoding the input schema: %w", err)
		}
		if err := json.Unmarshal(raw, &schema); err != nil {
			return nil, fmt.Errorf("reading the input schema: %w", err)
		}
	}
	return schema.Resolve(nil)
}

// resolver returns a function that narrows the declaration's contract to raw arguments.
func resolver[In any](schema *jsonschema.Resolved, d Declaration[In]) func(json.RawMessage) (contract.Contract, error) {
	return func(arguments json.RawMessage) (contract.Contract, error) {
		if arguments == nil {
			arguments = json.RawMessage(`{}`)
		}
		var value map[string]any
		if err := json.Unmarshal(arguments, &value); err != nil {
			return contract.Contract{}, invalid("arguments: %v", err)
		}
		if err := schema.Validate(value); err != nil {
			return contract.Contract{}, invalid("arguments: %v", err)
		}
		var in In
		if err := json.Unmarshal(arguments, &in); err != nil {
			return contract.Contract{}, invalid("arguments: %v", err)
		}
		c, err := d.Resolve(in, d.Contract)
		if err != nil {
			return contract.Contract{}, broken("resolving: %v", err)
		}
		if outside := d.Contract.Narrows(c); len(outside) > 0 {
			return contract.Contract{}, broken("resolving: outside of the tool's contract: %s", strings.Join(outside, ", "))
		}
		return c, nil
	}
}
