package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/store"
)

// sharedPins are the pins that a fleet has in common, in its store. Each server's are apart by how it is reached, so that
// configurations that call another server the same do not meet.
type sharedPins struct {
	pins   store.Pins
	scopes map[string]string // by server
	person string            // who accepts
}

// pinScopes returns where the pins of each server are in the store of a fleet; nil if the configuration has none.
func pinScopes(c *config.Config) map[string]string {
	if !strings.Contains(c.Store, "://") {
		return nil
	}
	scopes := map[string]string{}
	for _, s := range c.Servers {
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", s.Command, s.Args, s.URL))
		scopes[s.Name] = s.Name + " " + hex.EncodeToString(sum[:8])
	}
	return scopes
}

// shared returns the pins of the scopes; nil if there are none.
func (e *Env) shared(kept store.Pins, scopes map[string]string) pins.Shared {
	if scopes == nil {
		return nil
	}
	return &sharedPins{kept, scopes, e.person()}
}

// openSharedPins opens the store of a fleet for its pins. Both results are nil if the configuration has none.
func (e *Env) openSharedPins(ctx context.Context, c *config.Config) (store.Pins, func() error, error) {
	if pinScopes(c) == nil || c.Pins.Off {
		return nil, nil, nil
	}
	db, _, err := e.openStore(ctx, c.Store)
	if err != nil {
		return nil, nil, err
	}
	return db, db.Close, nil
}

// pinName returns the name under which a tool is kept. A server may call its tools anything.
func pinName(tool string) string {
	sum := sha256.Sum256([]byte(tool))
	return hex.EncodeToString(sum[:])
}

func (s *sharedPins) pin(server, tool, by string, d pins.Definition) (store.Pin, error) {
	scope, ok := s.scopes[server]
	if !ok {
		return store.Pin{}, fmt.Errorf("there is no server %q", server)
	}
	body, err := pins.Lock{server: {tool: d}}.Encode()
	sum := sha256.Sum256(body)
	return store.Pin{Scope: scope, Name: pinName(tool), Digest: hex.EncodeToString(sum[:]), Body: body, By: by}, err
}

func definitionOf(p store.Pin, server, tool string) (pins.Definition, error) {
	lock, err := pins.Parse(p.Body)
	d, ok := lock[server][tool]
	if err == nil && !ok {
		err = errors.New("it is of another tool")
	}
	if err != nil {
		return d, fmt.Errorf("reading a pin of %s: %w", p.Scope, err)
	}
	return d, nil
}

// First implements [pins.Shared].
func (s *sharedPins) First(ctx context.Context, server, tool string, d pins.Definition) (pins.Definition, error) {
	p, err := s.pin(server, tool, "", d)
	if err == nil {
		p, err = s.pins.Pin(ctx, p)
	}
	if err != nil {
		return pins.Definition{}, err
	}
	return definitionOf(p, server, tool)
}

// Accepted implements [pins.Shared].
func (s *sharedPins) Accepted(ctx context.Context, server, tool string) (d pins.Definition, ok bool, err error) {
	for p, err := range s.pins.Pinned(ctx, s.scopes[server]) {
		if err != nil {
			return d, false, err
		}
		if p.Name == pinName(tool) && p.By != "" {
			d, err := definitionOf(p, server, tool)
			return d, err == nil, err
		}
	}
	return d, false, nil
}

// Accept implements [pins.Shared].
func (s *sharedPins) Accept(ctx context.Context, server, tool string, d pins.Definition) error {
	p, err := s.pin(server, tool, s.person, d)
	if err != nil {
		return err
	}
	return s.pins.Repin(ctx, p)
}

// Forget implements [pins.Shared].
func (s *sharedPins) Forget(ctx context.Context, server, tool string) error {
	if s.scopes[server] == "" {
		return nil
	}
	_, err := s.pins.Unpin(ctx, s.scopes[server], pinName(tool))
	return err
}
