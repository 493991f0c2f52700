package setup

import (
	"errors"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/remedy"
)

// A Problem is the JSON form of a problem or warning.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// NewProblem returns the JSON form of a problem of a configuration.
func NewProblem(p config.Problem) Problem { return Problem{p.File, p.Line, p.Col, p.Msg, p.Hint} }

// String returns "file:line:column: message".
func (p Problem) String() string {
	return config.Problem{File: p.File, Line: p.Line, Col: p.Column, Msg: p.Message}.String()
}

// ProblemsOf returns the problems that an error stands for; none for nil.
func ProblemsOf(err error, file string) []Problem {
	list := []Problem{}
	var all config.Errors
	var f *remedy.Error
	switch {
	case err == nil:
	case errors.As(err, &all):
		for _, p := range all {
			list = append(list, NewProblem(p))
		}
	case errors.As(err, &f):
		list = append(list, Problem{File: file, Message: f.Error(), Hint: f.Hint})
	default:
		list = append(list, Problem{File: file, Message: err.Error()})
	}
	return list
}
