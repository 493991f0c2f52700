// Package hosterror makes the errors that a host may be shown.
//
// The text of an error enters the context of a model. A server that could choose a part of it would speak to the model
// with no label, and a quoted error of a database would describe the machine that Weir runs on. So a host is shown
// three kinds of text only: constants of this program, numbers, and names that the operator or the host itself chose.
// The compiler holds the first: the text that [New] takes has a type that no other package can convert a variable to.
//
//	err := hosterror.New("server {} did not answer within {}", hosterror.Configured(name), hosterror.Time(patience))
//	err = err.Because(cause)
//
// The cause is for logs and events. [Text] returns the part of any error to show to a host; of an error of another
// package, only that there was one.
package hosterror

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A constant is a text that stands in the source code: only an untyped constant converts to it elsewhere.
type constant string

// A Value fills one {} of a text.
type Value struct{ text string }

// Number returns the value of a number.
func Number(n int) Value { return Value{strconv.Itoa(n)} }

// Time returns the value of a duration.
func Time(d time.Duration) Value { return Value{d.String()} }

// Configured returns the value of a text from the operator's configuration.
func Configured(text string) Value { return Value{text} }

// Shown returns the part of an error that a host is shown, as a value.
func Shown(err error) Value { return Value{Text(err)} }

// System returns the value of an error number of the system: its own words for it.
func System(e syscall.Errno) Value { return Value{e.Error()} }

// Exit returns the value of the way in which a process ended: the system's words for it.
func Exit(state *os.ProcessState) Value { return Value{state.String()} }

// Ended is [Exit] for the process of another one: by its exit status, or by a signal other than zero.
func Ended(status int, by syscall.Signal) Value {
	if by != 0 {
		return Value{"signal: " + by.String()}
	}
	return Value{"exit status " + strconv.Itoa(status)}
}

// An Error is an error that a host may be shown.
type Error struct {
	shown string
	cause error // nil if the text says it all
}

// New returns an error with a text, in which the values take the place of {} one after the other.
func New(text constant, values ...Value) *Error {
	shown := string(text)
	for _, v := range values {
		shown = strings.Replace(shown, "{}", strings.ReplaceAll(v.text, "{}", "{ }"), 1)
	}
	return &Error{shown: shown}
}

// At returns err with the server that it is about. Its shown text begins with the server's name.
func At(server string, err error) *Error {
	return &Error{shown: "server " + server + ": " + Text(err), cause: err}
}

// And returns err with text appended to its shown part.
func And(err error, text constant, values ...Value) *Error {
	return &Error{shown: Text(err) + New(text, values...).shown, cause: err}
}

// Because returns the error with its cause.
func (e *Error) Because(cause error) *Error { return &Error{e.shown, cause} }

// Error returns the text for logs and events: the shown text and the causes.
func (e *Error) Error() string {
	switch {
	case e.cause == nil:
		return e.shown
	case e.shown == e.cause.Error(), strings.HasSuffix(e.shown, ": "+e.cause.Error()):
		return e.shown
	}
	return e.shown + " (" + e.cause.Error() + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Unexplained is the text of an error of another package.
const Unexplained = "an error inside weir; its log says more"

// Text returns the part of an error that a host is shown.
func Text(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.shown
	}
	return Unexplained
}

// Is reports whether there is something to show of an error.
func Is(err error) bool { return errors.As(err, new(*Error)) }
