// Package survey asks MCP servers for their lists, without calling any of it.
//
//	for _, l := range survey.Ask(ctx, targets, survey.Options{BaseEnv: env}) {
//		fmt.Println(l.Server, len(l.Tools), l.Err)
//	}
//
// Servers are started or reached, asked for their lists, and left again; Ask returns when nothing of them is left. A
// few are asked at a time. Their answers are raw JSON, free of duplicate members, and hostile in all other respects.
package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/upstream"
)

const (
	// DefaultTimeout is how long one server may take where Options.Timeout is not set.
	DefaultTimeout = 60 * time.Second

	atOnce = 8 // servers that are asked at a time
)

// Options configures a survey.
type Options struct {
	BaseEnv    []string                           // environment of child processes, "NAME=value"
	Stderr     io.Writer                          // where their standard error goes; nil: nowhere
	MaxMessage int                                // bytes of one message; 0: the default of package rpc
	Timeout    time.Duration                      // for one server; 0: DefaultTimeout
	Progress   func(done, all int, server string) // called after each server, one call at a time; nil: nobody is told
}

// A Listing is the offer of one server.
type Listing struct {
	Server       string            `json:"server"`
	Info         json.RawMessage   `json:"info,omitempty"` // its serverInfo
	Protocol     string            `json:"protocol,omitempty"`
	Instructions string            `json:"instructions,omitempty"` // to the model
	Tools        []json.RawMessage `json:"tools,omitempty"`
	Resources    []json.RawMessage `json:"resources,omitempty"`
	Templates    []json.RawMessage `json:"resourceTemplates,omitempty"`
	Prompts      []json.RawMessage `json:"prompts,omitempty"`
	Err          error             `json:"-"` // why the rest is missing

	Welcome json.RawMessage              `json:"-"` // the whole answer to its handshake
	Pages   map[string][]json.RawMessage `json:"-"` // the whole results of the list methods, by method
}

// Ask asks every server, and returns a listing for each, in their order.
func Ask(ctx context.Context, servers []upstream.Spec, opts Options) []Listing {
	if opts.Timeout == 0 {
		opts.Timeout = DefaultTimeout
	}
	listings := make([]Listing, len(servers))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i, spec := range servers {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			listings[i] = ask(ctx, spec, opts)
			mu.Lock()
			defer mu.Unlock()
			if done++; opts.Progress != nil {
				opts.Progress(done, len(servers), spec.Name)
			}
		})
	}
	wg.Wait()
	return listings
}

// ask asks one server.
func ask(ctx context.Context, spec upstream.Spec, opts Options) (l Listing) {
	l.Server = spec.Name
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	conn, err := upstream.Dial(ctx, spec, upstream.Hello{}, &upstream.Options{
		Stderr: opts.Stderr, MaxMessage: opts.MaxMessage, BaseEnv: opts.BaseEnv,
	})
	if err != nil {
		l.Err = fmt.Errorf("server %s: %w", spec.Name, err)
		return l
	}
	defer func() { l.Err = errors.Join(l.Err, conn.Close()) }()
	l.Protocol, l.Welcome, l.Pages = conn.Protocol(), conn.Welcome(), map[string][]json.RawMessage{}
	var ok bool
	if l.Info, ok = rawjson.Get(conn.Welcome(), "serverInfo"); !ok { // 2026-07-28 has it in the metadata
		l.Info, _ = rawjson.Get(conn.Welcome(), "_meta", "io.modelcontextprotocol/serverInfo")
	}
	text, _ := rawjson.Get(conn.Welcome(), "instructions")
	l.Instructions, _ = rawjson.String(text)
	for _, list := range []struct {
		method, capability, member string
		into                       *[]json.RawMessage
	}{
		{"tools/list", "tools", "tools", &l.Tools},
		{"prompts/list", "prompts", "prompts", &l.Prompts},
		{"resources/list", "resources", "resources", &l.Resources},
		{"resources/templates/list", "resources", "resourceTemplates", &l.Templates},
	} {
		pages, err := conn.List(ctx, list.method, list.capability)
		if err != nil && list.method != "resources/templates/list" { // some that have resources do not know templates
			l.Err = fmt.Errorf("server %s: %w", spec.Name, err)
			return l
		}
		*list.into, l.Pages[list.method] = upstream.Entries(pages, list.member), pages
	}
	return l
}
