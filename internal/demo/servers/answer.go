package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/label"
)

// A closer closes everything that a server holds open.
type closer func() error

// An answer is the text of a result and the server's knowledge of it.
type answer struct {
	text  string
	notes notes
}

// notes are the annotations of one result (SEP-1913, Result Annotations): single, concrete values where the contract
// of the tool names possible ones.
type notes struct {
	OpenWorld   bool     `json:"openWorldHint"`
	Malicious   bool     `json:"maliciousActivityHint,omitempty"`
	Attribution []string `json:"attribution,omitempty"`
	Returns     returns  `json:"returnMetadata"`
}

type returns struct {
	Source      label.Source `json:"source"`
	Sensitivity sensitivity  `json:"sensitivity"`
}

// sensitivity is a set of classes as SEP-1913 writes it: "none", one class, or an array of several.
type sensitivity []label.Class

// MarshalJSON implements [json.Marshaler].
func (s sensitivity) MarshalJSON() ([]byte, error) {
	switch len(s) {
	case 0:
		return []byte(`"none"`), nil
	case 1:
		return json.Marshal(s[0])
	}
	return json.Marshal([]label.Class(s))
}

// done is the answer of a tool that reports no more than its own success.
func done(format string, args ...any) answer {
	return answer{fmt.Sprintf(format, args...), notes{Returns: returns{Source: label.System}}}
}

// add registers one tool. The fields of In, a struct, are its arguments.
func add[In any](s *mcp.Server, name, description string, run func(context.Context, In) (answer, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			a, err := run(ctx, in)
			if err != nil {
				return nil, nil, plain(err) // becomes a result that is marked as an error; it holds no data, so no notes
			}
			return &mcp.CallToolResult{
				Meta:    mcp.Meta{"annotations": a.notes},
				Content: []mcp.Content{&mcp.TextContent{Text: a.text}},
			}, nil, nil
		})
}

// plain leaves the name of the system call out of an error about a file.
func plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", at.Path, at.Err)
	}
	return err
}
