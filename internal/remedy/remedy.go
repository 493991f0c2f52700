// Package remedy holds errors that tell the user how to go on. An error has the exit status of the process and a hint;
// the command line prints both, and no other package prints them.
//
//	return remedy.Usage(fmt.Errorf("reading the policy: %w", err), "name a file, or a profile")
package remedy

import "fmt"

// The exit statuses of weir.
const (
	OK      = 0
	Failed  = 1 // while running
	Misused = 2 // wrong usage or configuration; nothing was started
)

// An Error is an error with its exit status and a hint. Err is nil if the command has printed the reason itself.
type Error struct {
	Status int
	Err    error
	Hint   string
}

// Usage returns the error of wrong usage or configuration.
func Usage(err error, hint string) error { return &Error{Misused, err, hint} }

// Failure returns the error of a command that failed while running.
func Failure(err error, hint string) error { return &Error{Failed, err, hint} }

// Silent returns the error of a command that has printed the reason itself.
func Silent(status int) error { return &Error{Status: status} }

// Error implements [error].
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return e.Err.Error()
}

// Unwrap returns the error without its hint.
func (e *Error) Unwrap() error { return e.Err }
