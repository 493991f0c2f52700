package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
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

// sharedIn returns the pins of the scopes; nil if there are none.
func sharedIn(env *home.Env, kept store.Pins, scopes map[string]string) pins.Shared {
	if scopes == nil {
		return nil
	}
	return &sharedPins{kept, scopes, env.Person()}
}

// OpenSharedPins opens the store of a fleet for its pins. Both results are nil if the configuration has none.
func OpenSharedPins(ctx context.Context, env *home.Env, c *config.Config) (store.Pins, func() error, error) {
	if pinScopes(c) == nil || c.Pins.Off {
		return nil, nil, nil
	}
	db, err := OpenStore(ctx, c.Store, nil)
	if err != nil {
		return nil, nil, err
	}
	return db, db.Close, nil
}

// pinName returns the name under which a definition is kept. A server may call its tools anything.
func pinName(id pins.ID) string {
	name := id.Name
	if id.Kind != pins.Tools {
		name = string(id.Kind) + "\x00" + name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

func (s *sharedPins) pin(server string, id pins.ID, by string, p pins.Pin) (store.Pin, error) {
	scope, ok := s.scopes[server]
	if !ok {
		return store.Pin{}, fmt.Errorf("there is no server %q", server)
	}
	body, err := pins.Lock{server: {id.Kind: {id.Name: p}}}.Encode()
	sum := sha256.Sum256(body)
	return store.Pin{Scope: scope, Name: pinName(id), Digest: hex.EncodeToString(sum[:]), Body: body, By: by}, err
}

// read returns the definition that is kept, and of which it is. The user has reviewed it if the pin names one.
func read(kept store.Pin, server string) (id pins.ID, p pins.Pin, err error) {
	lock, err := pins.Parse(kept.Body)
	if err != nil {
		return id, p, fmt.Errorf("reading a pin of %s: %w", kept.Scope, err)
	}
	for kind, all := range lock[server] {
		for name, one := range all {
			if id = (pins.ID{Kind: kind, Name: name}); pinName(id) == kept.Name {
				if kept.By != "" {
					one.Status = pins.Reviewed
				}
				return id, one, nil
			}
		}
	}
	return id, p, fmt.Errorf("reading a pin of %s: it is of another definition", kept.Scope)
}

// First implements [pins.Shared].
func (s *sharedPins) First(ctx context.Context, server string, id pins.ID, p pins.Pin) (pins.Pin, error) {
	kept, err := s.pin(server, id, "", p)
	if err == nil {
		kept, err = s.pins.Pin(ctx, kept)
	}
	if err != nil {
		return pins.Pin{}, err
	}
	_, p, err = read(kept, server)
	return p, err
}

// Reviewed implements [pins.Shared].
func (s *sharedPins) Reviewed(ctx context.Context, server string) (map[pins.ID]pins.Pin, error) {
	all := map[pins.ID]pins.Pin{}
	for kept, err := range s.pins.Pinned(ctx, s.scopes[server]) {
		if err != nil {
			return nil, err
		}
		if kept.By == "" {
			continue
		}
		id, p, err := read(kept, server)
		if err != nil {
			return nil, err
		}
		all[id] = p
	}
	return all, nil
}

// Accept implements [pins.Shared].
func (s *sharedPins) Accept(ctx context.Context, server string, id pins.ID, d pins.Definition) error {
	p, err := s.pin(server, id, s.person, pins.Pin{Status: pins.Reviewed, Definition: d})
	if err != nil {
		return err
	}
	return s.pins.Repin(ctx, p)
}

// Forget implements [pins.Shared].
func (s *sharedPins) Forget(ctx context.Context, server string, id pins.ID) error {
	if s.scopes[server] == "" {
		return nil
	}
	_, err := s.pins.Unpin(ctx, s.scopes[server], pinName(id))
	return err
}
