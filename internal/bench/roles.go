package main

// roleArgument as the first argument makes the program play a role: the next is the prefix of profiles to leave, "" for
// none, then come the role and its arguments.
const roleArgument = "role"

// The roles.
const (
	roleServer     = "server"      // [DURATION]: an MCP server on stdio, which begins so late
	roleHTTPServer = "http-server" // an MCP server over HTTP; it says where on standard error
	roleRelay      = "relay"       // COMMAND…: a bare relay of lines
	roleHTTPRelay  = "http-relay"  // URL: a bare reverse proxy; it says where on standard error
	roleWeir       = "weir"        // ARGUMENT…: Weir itself
)

// The descriptors on which a process in a role is asked how it is, by one byte, and answers with a line of JSON.
const (
	askFD    = 3
	answerFD = 4
)
