package gateway

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/internal/gateway/protocol"
	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
)

// HTTP sessions of the older revisions may share their connections to servers, if the operator says that no server keeps anything of a session
// (Options.Share), and if nothing else of one could reach another: they are of one principal, and of clients of the same name, revision and
// capabilities, which take no requests of servers. What a server announces goes to those that it concerns: a change of a list to all, one of a
// resource to the sessions that subscribed to it, progress to the request that it belongs to, and a log message to the only request in flight
// that is logged as much. Anything else that it says on its own goes to none.

// A member is one HTTP session of a joint set of links. What it holds is guarded by the set's mu.
type member struct {
	level   string // of log messages, as its host has set it; "" if it has not
	watched map[string]*link
}

// mayJoin reports whether the host's connections to servers may be shared.
func (f *front) mayJoin(hello upstream.Hello) bool {
	return f.g.opts.Share && f.agents.McpSession != "" && protocol.RequestsTaken(hello.Capabilities) == ""
}

// join returns the links that sessions like this one share, and makes f a member until leave is called.
func (g *Gateway) join(f *front, hello upstream.Hello) (*links, error) {
	key := fmt.Sprintf("%q %q %s %s", f.agents.Principal, hello.Protocol, rawjson.Canonical(hello.ClientInfo), rawjson.Canonical(hello.Capabilities))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, hosterror.New("the gateway is closed")
	}
	set := g.joint[key]
	if set == nil {
		set = newLinks(g, hello, nil)
		set.heard = g.heardBy(f.agents.Principal)
		set.key = key
		g.joint[key] = set
	}
	set.mu.Lock()
	if set.members == nil {
		set.members = map[*front]*member{}
	}
	set.members[f] = &member{watched: map[string]*link{}}
	set.mu.Unlock()
	return set, nil
}

// joined returns the joint set that f is a member of; nil if there is none.
func (f *front) joined() *links {
	f.mu.Lock()
	set := f.links
	f.mu.Unlock()
	if set == nil || set.member(f) == nil {
		return nil
	}
	return set
}

// leave ends what join began. The last one closes the links.
func (f *front) leave(set *links) error {
	g := set.g
	g.mu.Lock()
	set.mu.Lock()
	left := set.members[f]
	delete(set.members, f)
	last := len(set.members) == 0
	set.mu.Unlock()
	if last {
		delete(g.joint, set.key)
	}
	g.mu.Unlock()
	if last {
		return set.close()
	}
	for uri, l := range left.watched {
		l.unsubscribe(uri)
	}
	return nil
}

// member returns what a joint set holds of f; nil if the set is not joint. The set's lock must be held to use it.
func (set *links) member(f *front) *member {
	set.mu.Lock()
	defer set.mu.Unlock()
	return set.members[f]
}

// toMembers passes on that something has changed.
func (set *links) toMembers(m *rpc.Message, uri string) {
	var hear []*front
	set.mu.Lock()
	for f, one := range set.members {
		concerns := m.Method != updated
		for watched := range one.watched {
			concerns = concerns || strings.HasPrefix(uri, watched)
		}
		if concerns {
			hear = append(hear, f)
		}
	}
	set.mu.Unlock()
	for _, f := range hear {
		f.write(context.Background(), unmarked(m))
	}
}

// levelOf returns the level that the host of f has set, "" if it has set none.
func (set *links) levelOf(f *front) string {
	set.mu.Lock()
	defer set.mu.Unlock()
	if one := set.members[f]; one != nil {
		return one.level
	}
	return set.level
}
