package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
	return f.g.opts.Share && f.host.mcpSession != "" && taken(hello.Capabilities) == ""
}

// join returns the links that sessions like this one share, and makes f a member until leave is called.
func (g *Gateway) join(f *front, hello upstream.Hello) (*links, error) {
	key := fmt.Sprintf("%q %q %s %s", f.host.principal, hello.Protocol, rawjson.Canonical(hello.ClientInfo), rawjson.Canonical(hello.Capabilities))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, hosterror.New("the gateway is closed")
	}
	set := g.joint[key]
	if set == nil {
		set = newLinks(g, hello, nil)
		set.heard = g.heardBy(f.host.principal)
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

// watch serves resources/subscribe and resources/unsubscribe of a member. To subscribe twice is to subscribe once.
func (x *exchange) watch(ctx context.Context, one *member) *rpc.Message {
	l, set, uri := x.route.link, x.route.link.set, x.route.call.Name
	set.mu.Lock()
	_, watched := one.watched[uri]
	set.mu.Unlock()
	switch {
	case x.m.Method == "resources/subscribe" && !watched:
		if err := l.subscribe(ctx, uri); err != nil {
			return x.f.internalError(x.m, err)
		}
		set.mu.Lock()
		_, twice := one.watched[uri]
		_, stays := set.members[x.f]
		if stays {
			one.watched[uri] = l
		}
		set.mu.Unlock()
		if twice || !stays {
			l.unsubscribe(uri)
		}
	case x.m.Method == "resources/unsubscribe" && watched:
		set.mu.Lock()
		_, watched = one.watched[uri]
		delete(one.watched, uri)
		set.mu.Unlock()
		if watched {
			l.unsubscribe(uri)
		}
	}
	return rpc.Reply(x.m.ID, json.RawMessage(`{}`))
}

// setMemberLevel serves logging/setLevel of a member: servers log as much as the one that wants the most.
func (f *front) setMemberLevel(ctx context.Context, m *rpc.Message, set *links, one *member, level string) *rpc.Message {
	set.mu.Lock()
	one.level = level
	if set.level == "" || slices.Index(levels, level) < slices.Index(levels, set.level) {
		set.level = level
	}
	set.mu.Unlock()
	for _, l := range set.all() {
		if conn := l.open(); conn != nil && !conn.Modern() {
			l.raiseLevel(ctx, conn, level)
		}
	}
	return rpc.Reply(m.ID, json.RawMessage(`{}`))
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
