package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
)

// usage returns the error of a command that was called in a wrong way.
func usage(cmd *cobra.Command, err error) error {
	return remedy.Usage(err, "see "+cmd.CommandPath()+" --help")
}

// finish prints an error and returns the exit status that belongs to it. This is the one place that maps the two.
func finish(w io.Writer, err error) int {
	var f *remedy.Error
	var problems config.Errors
	switch {
	case err == nil:
		return remedy.OK
	case errors.As(err, &problems):
		for _, p := range problems {
			printError(w, p.String(), p.Hint)
		}
		return remedy.Misused
	case errors.As(err, &f):
		if f.Err != nil {
			printError(w, f.Err.Error(), f.Hint)
		}
		return f.Status
	}
	printError(w, err.Error(), "")
	return remedy.Failed
}

// maxError is how many characters of an error are printed.
const maxError = 4000

// printError prints an error, each part on one line. It may quote text of a server.
func printError(w io.Writer, msg, hint string) {
	line := strings.NewReplacer("\r", " ", "\n", " ")
	fmt.Fprintf(w, "weir: error: %s\n", plain.Text(line.Replace(msg), maxError))
	if hint != "" {
		fmt.Fprintf(w, "weir: hint: %s\n", plain.Text(line.Replace(hint), maxError))
	}
}
