//go:build !linux

package lasting

import "errors"

// A system does not tell here.
type system struct{}

func newSystem() (*system, error) { return nil, errors.ErrUnsupported }

func (*system) watch(Names) error { return errors.ErrUnsupported }

func (*system) changed() bool { return true }
