package overlay

import "github.com/weir-mcp/weir/internal/document"

// A Problem is a mistake in an overlay file: its File, Line and Col (from 1; 0 for the whole file), its Msg, and a Hint
// at the remedy.
type Problem = document.Problem

// Errors is every problem of an overlay file, in the order of the file. [Load] returns it.
type Errors = document.Errors
