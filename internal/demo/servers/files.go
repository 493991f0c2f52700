package servers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/label"
)

type noArguments struct{}

type pathArgument struct {
	Path string `json:"path" jsonschema:"name of the file"`
}

type writeArguments struct {
	Path string `json:"path" jsonschema:"name of the new file"`
	Text string `json:"text" jsonschema:"what to write"`
}

// registerFiles serves the files of one directory and nothing outside of it, under any names.
func registerFiles(s *mcp.Server, dir string) (closer, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	add(s, "list_files", "List the user's files.", func(context.Context, noArguments) (answer, error) {
		entries, err := fs.ReadDir(root.FS(), ".")
		if err != nil {
			return answer{}, err
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return answer{strings.Join(names, "\n"), aboutFile(".")}, nil
	})
	add(s, "read_file", "Read one of the user's files.", func(_ context.Context, in pathArgument) (answer, error) {
		data, err := root.ReadFile(in.Path)
		if err != nil {
			return answer{}, err
		}
		return answer{string(data), aboutFile(in.Path)}, nil
	})
	add(s, "write_file", "Create a file. An existing file is never overwritten.",
		func(_ context.Context, in writeArguments) (answer, error) {
			f, err := root.OpenFile(in.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return answer{}, err
			}
			_, err = f.WriteString(in.Text)
			if err := errors.Join(err, f.Close()); err != nil {
				return answer{}, err
			}
			return done("wrote %s (%d bytes)", in.Path, len(in.Text)), nil
		})
	add(s, "delete_file", "Delete a file for good.", func(_ context.Context, in pathArgument) (answer, error) {
		if err := root.Remove(in.Path); err != nil {
			return answer{}, err
		}
		return done("deleted %s", in.Path), nil
	})
	return root.Close, nil
}

// aboutFile returns the label of a file by its name: a table of salaries is financial data of the company, an
// environment file holds credentials, everything else is the user's own.
func aboutFile(name string) notes {
	n := notes{
		Attribution: []string{fmt.Sprintf("mcp://files.demo.example/%s", strings.TrimPrefix(name, "./"))},
		Returns:     returns{Source: label.UserSource},
	}
	switch {
	case strings.Contains(name, "salaries"):
		n.Returns = returns{label.Internal, sensitivity{label.Financial}}
	case strings.Contains(name, ".env"):
		n.Returns = returns{label.UserSource, sensitivity{label.Credentials}}
	}
	return n
}
