package mcpguard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/inputschema"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// listTimeout is how long a server may take for a list that a call waits for.
const listTimeout = 30 * time.Second

// kinds are the lists by their methods.
var kinds = map[string]catalog.Kind{
	catalog.Tools.Method: catalog.Tools, catalog.Prompts.Method: catalog.Prompts,
	catalog.Resources.Method: catalog.Resources, catalog.Templates.Method: catalog.Templates,
}

// listed returns the lists that may have the thing which a call is about, and the member of the params that names it;
// none for resources: any URI may be one.
func listed(call *guard.Call) (in []catalog.Kind, member string) {
	switch call.Method {
	case "tools/call":
		return []catalog.Kind{catalog.Tools}, "name"
	case "prompts/get":
		return []catalog.Kind{catalog.Prompts}, "name"
	case "completion/complete":
		if _, prompt := rawjson.Get(call.Params, "ref", "name"); prompt {
			return []catalog.Kind{catalog.Prompts}, "ref"
		}
		return []catalog.Kind{catalog.Templates, catalog.Resources}, "ref"
	}
	return nil, ""
}

// A listing is a list of a server, as the server wrote it and as the host sees it.
type listing struct {
	source catalog.Source
	list   *catalog.List
	as     int // the number of changes that the server had announced
}

// Lists are those of one connection.
type lists struct {
	server  Server
	trust   func(ctx context.Context) (contract.Trust, error) // that counts now
	words   annotation.Words
	reviews *reviews
	query   func(ctx context.Context, method string, params json.RawMessage) (guard.Answer, error)
	reading chan struct{} // holds a token while a list is read for a call

	introduction *introduction
	schemas      *inputschema.Cache

	mu      sync.Mutex
	by      map[string]listing // by method
	changes int                // that the server has announced
}

// now returns the list as it was read last; none if the server has announced a change since.
func (l *lists) now(kind catalog.Kind) (listing, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.by[kind.Method]
	return known, ok && known.as == l.changes
}

func (l *lists) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}

// heard notes that a list may have changed, if a notification of the server says so.
func (l *lists) heard(method string) {
	switch method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changes++
	}
}

// errAnswered says that the server has answered a request for a page with an error.
var errAnswered = errors.New("the server does not list them")

// read reads all pages of a list. The params are those of the request of the first.
func (l *lists) read(
	ctx context.Context, kind catalog.Kind, params json.RawMessage, ask func(json.RawMessage) (guard.Answer, error),
) (listing, error) {
	as := l.count()
	pages, err := rpc.Pages(params, func(params json.RawMessage) (json.RawMessage, error) {
		a, err := ask(params)
		if err == nil {
			err = annotation.Check(a.Raw())
		}
		if err == nil && a.Error != nil {
			err = errAnswered
		}
		return a.Result, err
	})
	if err != nil {
		return listing{}, fmt.Errorf("%s of server %s: %w", kind.Method, l.server.Name, err)
	}
	trust, err := l.trust(ctx)
	if err != nil {
		return listing{}, err
	}
	return l.keep(ctx, kind, listing{as: as, source: catalog.Source{
		Server: l.server.Name, Trust: trust, Overlay: l.server.Overlay, Pages: pages, Words: l.words,
	}})
}

// keep holds a list against its pins, and keeps it as the host may see it.
func (l *lists) keep(ctx context.Context, kind catalog.Kind, now listing) (listing, error) {
	if err := l.reviews.hold(ctx, kind, &now.source); err != nil {
		return listing{}, err
	}
	now.list, _ = catalog.Build(kind, []catalog.Source{now.source})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[string]listing{}
	}
	l.by[kind.Method] = now
	return now, nil
}

// answer answers the host's request for a list: with all pages in one, as the host may see them. First asks for the
// first page. An error of the server is the answer.
func (l *lists) answer(ctx context.Context, kind catalog.Kind, params json.RawMessage, first sender) (guard.Answer, error) {
	var last guard.Answer
	ask := first
	now, err := l.read(ctx, kind, params, func(params json.RawMessage) (a guard.Answer, err error) {
		last, err = ask(ctx, params)
		ask = func(ctx context.Context, params json.RawMessage) (guard.Answer, error) {
			return l.query(ctx, kind.Method, params)
		}
		return last, err
	})
	switch {
	case errors.Is(err, errAnswered):
		return last, nil
	case err != nil:
		return guard.Answer{}, err
	}
	return guard.Answer{Result: now.list.Result()}, nil
}

// unlisted is why an entry of no list must not be used, where definitions are pinned: nobody has seen it.
const unlisted = "its server does not list it"

// find returns the entry of a list, and why it must not be used; "" if it may. The list is read if the host has not
// read it since the server last announced a change. An entry that is held is looked at again: a person may have
// accepted it. Without pins an entry of no list is the zero one.
func (l *lists) find(ctx context.Context, kind catalog.Kind, name string, params json.RawMessage) (catalog.Entry, string, error) {
	now, ok := l.now(kind)
	var err error
	switch {
	case !ok:
		now, err = l.again(ctx, kind, params)
	case now.holds(name) != "":
		now, err = l.keep(ctx, kind, now)
	}
	switch {
	case ctx.Err() != nil:
		return catalog.Entry{}, "", ctx.Err()
	case err != nil && l.reviews.pins == nil:
		return catalog.Entry{}, "", nil
	case errors.Is(err, errAnswered):
		return catalog.Entry{}, unlisted, nil
	case err != nil:
		return catalog.Entry{}, "", err
	}
	e, found := now.list.Find(name)
	held := now.holds(name)
	if found || held != "" || l.reviews.pins == nil {
		return e, held, nil
	}
	if !ok {
		return e, unlisted, nil
	}
	l.forget(kind) // it may be new
	return l.find(ctx, kind, name, params)
}

// forget has a list read again.
func (l *lists) forget(kind catalog.Kind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.by, kind.Method)
}

// holds returns why an entry must not be used; "" if it may.
func (l *listing) holds(name string) string { return l.source.Held[name].Why }

// again reads a list for a call. Calls at the same time wait for one.
func (l *lists) again(ctx context.Context, kind catalog.Kind, params json.RawMessage) (listing, error) {
	select {
	case l.reading <- struct{}{}:
		defer func() { <-l.reading }()
	case <-ctx.Done():
		return listing{}, ctx.Err()
	}
	if now, ok := l.now(kind); ok {
		return now, nil
	}
	own := l.introduction.whole(json.RawMessage(`{}`), params)
	pages, cancel := context.WithTimeout(ctx, listTimeout) // and not the person who is asked about them
	defer cancel()
	return l.read(ctx, kind, own, func(params json.RawMessage) (guard.Answer, error) { return l.query(pages, kind.Method, params) })
}

// describe tells the guard how the server has listed the thing that a call is about, and holds the arguments against
// the input schema of a tool. A name that the server does not list counts as chosen by the agent, as arguments do. It
// fails for arguments that a server may read as others than the guard.
func (l *lists) describe(ctx context.Context, call *guard.Call, params json.RawMessage) (of catalog.Entry, err error) {
	kinds, member := listed(call)
	if kinds != nil {
		err = call.HoldBy(ctx, func(ctx context.Context) (held string, err error) {
			for _, kind := range kinds {
				if of, held, err = l.find(ctx, kind, call.Name, params); err != nil || of.Name != "" {
					break
				}
			}
			return held, err
		})
		if err == nil && of.Name == "" {
			err = undeclared(call, member)
		}
		if err != nil {
			return of, err
		}
	}
	if call.Method != "tools/call" {
		call.Describe(call.Declared, l.server.Overlay)
		return of, nil
	}
	call.Describe(of.Declared, l.server.Overlay)
	call.Confirmed = of.Confirmed
	if of.Said == nil {
		return of, nil
	}
	found := l.schemas.Of(of.Said).Check(call.Arguments)
	if found.Ambiguous {
		return of, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "members of params.arguments differ in nothing but case"}
	}
	call.Violates = cmp.Or(call.Violates, found.Violates)
	call.Undeclared.Names, call.Undeclared.Beside = found.Undeclared, found.Beside
	return of, nil
}

// undeclared has a member of the params count as one that nothing declares.
func undeclared(call *guard.Call, member string) error {
	value, _ := rawjson.Get(call.Params, member)
	more, err := rawjson.Set([]byte(cmp.Or(string(call.Undeclared.Params), "{}")), value, member)
	call.Undeclared.Params = more
	return err
}
