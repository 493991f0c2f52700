package cli

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
)

// A problem is the JSON form of a problem or warning.
type problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func newProblem(p config.Problem) problem { return problem{p.File, p.Line, p.Col, p.Msg, p.Hint} }

// String returns "file:line:column: message".
func (p problem) String() string {
	return config.Problem{File: p.File, Line: p.Line, Col: p.Column, Msg: p.Message}.String()
}

// problemsOf returns the problems that an error stands for; none for nil.
func problemsOf(err error, file string) []problem {
	list := []problem{}
	var inConfig config.Errors
	var inPolicy policy.Errors
	var inOverlay overlay.Errors
	var f *remedy.Error
	switch {
	case err == nil:
	case errors.As(err, &inConfig):
		for _, p := range inConfig {
			list = append(list, newProblem(p))
		}
	case errors.As(err, &inPolicy):
		for _, p := range inPolicy {
			list = append(list, newProblem(config.Problem(p)))
		}
	case errors.As(err, &inOverlay):
		for _, p := range inOverlay {
			list = append(list, newProblem(config.Problem(p)))
		}
	case errors.As(err, &f):
		list = append(list, problem{File: file, Message: f.Error(), Hint: f.Hint})
	default:
		list = append(list, problem{File: file, Message: err.Error()})
	}
	return list
}

// writeJSON writes v as indented JSON.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// A fileReport is what a check finds out about one file.
type fileReport interface {
	// print writes the summary for people.
	print(env *Env) error
}

// checkFiles makes cmd a command that checks files one by one. The error of a check says what
// is wrong with the file, and is in its report too.
func checkFiles[R fileReport](env *Env, cmd *cobra.Command, check func(path string) (R, error)) *cobra.Command {
	var asJSON bool
	cmd.Use, cmd.Args = "check FILE…", needsArg("a file")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		reports := []R{}
		ok := true
		for _, path := range args {
			r, err := check(path)
			ok = ok && err == nil
			reports = append(reports, r)
			switch {
			case asJSON:
			case err != nil:
				finish(env.Stderr, err)
			default:
				if err := r.print(env); err != nil {
					return err
				}
			}
		}
		if asJSON {
			if err := writeJSON(env.Stdout, map[string]any{"ok": ok, "files": reports}); err != nil {
				return err
			}
		}
		if !ok {
			return remedy.Silent(remedy.Misused) // said above
		}
		return nil
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}
