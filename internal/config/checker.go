package config

import (
	"fmt"
)

// A checker looks at one server of a draft.
type checker struct {
	d *Draft
	s *Server
}

// at returns the place of a member of the server, and without arguments that of the server.
func (c checker) at(member ...string) Place {
	return c.d.Place(Pointer(append([]string{"servers", c.s.Name}, member...)...))
}

func (c checker) fault(at Place, hint, format string, args ...any) {
	c.d.Fault(at, hint, "server %.80q: %s", c.s.Name, fmt.Sprintf(format, args...))
}
