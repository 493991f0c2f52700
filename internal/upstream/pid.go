package upstream

// PID returns the id of the server's process, and 0 if it is reached by a URL.
func (c *Conn) PID() int {
	if p, ok := c.transport.(*process); ok {
		return p.cmd.Process.Pid
	}
	return 0
}
