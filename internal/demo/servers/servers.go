// Package servers holds the MCP servers of the demonstration: files, mail, web and database.
//
// Each is a real server: it speaks the protocol over stdio as a process of its own, keeps its state in a directory
// and obeys everybody. None of them protects anything; they only describe, in SEP-1913's words, their tools
// and their results. [Run] serves one of them:
//
//	files     list_files, read_file, write_file, delete_file   over the files of the directory
//	mail      read_drafts, list_inbox, read_message, send_email   drafts.json, inbox.json; what was sent: outbox.jsonl
//	web       fetch   over HTTP; hosts.json says which loopback address a host name means, reported.txt which
//	          addresses are known to be malicious
//	database  query, execute   over one CSV file a table, in the small language described at [parse]
//
// The contracts of the tools stand in one table, [Contracts]. The SDK's typed annotations have no room for them, so
// they are spliced into the answers to tools/list on the wire. Every result states its label in _meta.annotations.
package servers

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Names returns the names of the servers in the order in which they are presented.
func Names() []string { return []string{"files", "mail", "web", "database"} }

// Options says where a server keeps its state and how it is reached.
type Options struct {
	Data      string        // its directory; it must exist
	Transport mcp.Transport // nil means the standard input and output of the process
}

// Run serves the named server until its client leaves or ctx is done. A client that leaves is no error.
func Run(ctx context.Context, name string, opts Options) error {
	register, ok := map[string]func(*mcp.Server, string) (closer, error){
		"files":    registerFiles,
		"mail":     registerMail,
		"web":      registerWeb,
		"database": registerDatabase,
	}[name]
	if !ok {
		return fmt.Errorf("unknown server %q", name)
	}
	if opts.Transport == nil {
		opts.Transport = &mcp.StdioTransport{}
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "demo-" + name, Version: "1"}, nil)
	done, err := register(server, opts.Data)
	if err != nil {
		return fmt.Errorf("starting server %q on %s: %w", name, opts.Data, err)
	}
	defer func() { _ = done() }() // nothing that was only opened for reading and appending can be lost here
	return server.Run(ctx, &annotated{opts.Transport, Contracts()})
}
