package gateway

import (
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/budget"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/policy"
)

// A Status is how a gateway does at one moment.
type Status struct {
	Policy    *policy.Policy // that decides
	Mode      policy.Mode
	Hosts     int // connections of hosts; over HTTP in 2026-07-28, clients that differ in principal or capabilities; sessions that share servers are one
	Questions int // open ones
	Budget    []budget.Usage
	Servers   []backend.ServerStatus

	Conversation *conversation.Note // of the last request on stdio; nil if there is none that could begin anew
}

// Status returns how the gateway does. It waits for no server.
func (g *Gateway) Status() Status {
	s := Status{Questions: g.book.Count(), Budget: g.opts.Budget.Usage()}
	s.Policy, s.Mode = g.guard.Rules()
	if key := g.current.Load(); key != nil {
		if n, ok, err := g.opts.Local.Book.Find(conversation.KeyOf(*key)); err == nil && ok {
			s.Conversation = &n
		}
	}
	s.Hosts, s.Servers = g.servers.Status()
	return s
}

// Hidden returns the values that agents were not shown, for a person: none of it may go to a host.
func (g *Gateway) Hidden() *guard.Hidden { return g.guard.Hidden }
