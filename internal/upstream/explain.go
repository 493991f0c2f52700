package upstream

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os/exec"
	"slices"
	"syscall"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rpc"
)

// Explain returns the error of a connection as hosts may be shown it: by its kind. Whatever the server chose of its
// text stays in the cause, which is for logs and events.
func Explain(err error) error {
	if err == nil || hosterror.Is(err) {
		return err
	}
	return explained(err).Because(err)
}

// explained names the kind of an error. Of an unknown one it says nothing.
func explained(err error) *hosterror.Error {
	var (
		status  *statusError
		refused *rpc.Error
		errno   syscall.Errno
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return hosterror.New("no answer in time")
	case errors.Is(err, context.Canceled):
		return hosterror.New("cancelled")
	case errors.Is(err, ErrLogin):
		return hosterror.New("login needed")
	case errors.Is(err, errForeign):
		return hosterror.New("it sends weir to another origin")
	case errors.As(err, new(*tooLong)):
		return hosterror.New("its answer is too long")
	case errors.As(err, new(*rpc.BadMessage)):
		return hosterror.New("its answer is malformed")
	case errors.As(err, &status):
		return hosterror.New("it answered with HTTP status {}", hosterror.Number(status.code))
	case errors.As(err, &refused) && -32768 <= refused.Code && refused.Code <= -32000: // the codes that JSON-RPC reserves
		return hosterror.New("it answered with error code {}", hosterror.Number(refused.Code))
	case refused != nil:
		return hosterror.New("it answered with an error")
	case errors.Is(err, errNext):
		return hosterror.New("it speaks no revision that weir knows")
	case errors.As(err, new(*exec.Error)) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		return hosterror.New("its program cannot be started")
	case errors.As(err, new(*net.DNSError)):
		return hosterror.New("its name cannot be resolved")
	case errors.As(err, &errno):
		return hosterror.New("it cannot be reached: {}", hosterror.System(errno))
	case errors.Is(err, ErrClosed):
		return hosterror.New("the connection to it was lost")
	}
	return hosterror.New("the call to it failed")
}

// IsLost reports whether a call has no answer because the connection to the server ended or broke: its process died,
// say. The server may have received the call. Errors in which it speaks, and a login that is needed, are none of these.
func IsLost(err error) bool {
	var status *statusError
	switch {
	case errors.Is(err, ErrLogin), errors.As(err, new(*rpc.BadMessage)), errors.As(err, new(*tooLong)):
		return false
	case errors.As(err, &status):
		return errors.Is(err, errSessionGone)
	}
	losses := []error{ErrClosed, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}
	return slices.ContainsFunc(losses, func(cause error) bool { return errors.Is(err, cause) })
}
