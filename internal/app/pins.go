package app

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/store"
)

// OpenPins returns the pins of a configuration, which a fleet shares in its store; nil if it wants none.
func OpenPins(env *home.Env, c *config.Config, kept store.Pins) (*pins.File, error) {
	if c.Pins.Off {
		return nil, nil
	}
	state, err := env.StateDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(state, "pins")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of pins: %w", err)
	}
	sum := sha256.Sum256([]byte(pinned(c)))
	own := hex.EncodeToString(sum[:8])
	path := c.Pins.File
	if path == "" {
		path = filepath.Join(dir, own+".lock")
	}
	opts := pins.Options{Mutex: filepath.Join(dir, own+".mutex"), Shared: sharedIn(env, kept, pinScopes(c))}
	if c.Pins.Review {
		opts.Mode = pins.Review
	}
	f, err := pins.Open(path, opts)
	if err != nil {
		return nil, remedy.Usage(err, "take the file of before from your version control, or remove it to pin all tools anew")
	}
	return f, nil
}

// pinned names the owner of the pins of a configuration: their file, or else the servers as they are reached.
func pinned(c *config.Config) string {
	if c.Pins.File != "" {
		return c.Pins.File
	}
	var b strings.Builder
	for _, s := range c.Servers {
		fmt.Fprintf(&b, "%q %q %q %q\n", s.Name, s.Command, s.Args, s.URL)
	}
	return b.String()
}

// gatewayPins returns the pins as the gateway takes them.
func gatewayPins(f *pins.File) backend.Pins {
	if f == nil {
		return nil
	}
	return f
}

// reviewCommand returns the command by which a person reviews definitions of a server.
func (s *Service) reviewCommand() func(server string) string {
	if s.Reload != nil {
		path := home.Absolute(s.Path)
		return func(server string) string { return "weir review --config " + setup.Quoted(path) + " " + server }
	}
	command := "weir review"
	if s.Config.Pins.File != "" {
		command += " --pins " + setup.Quoted(home.Absolute(s.Config.Pins.File))
	}
	for _, one := range s.Config.Servers {
		command += " --name " + setup.Quoted(one.Name) + " --"
		for _, word := range append([]string{one.Command}, one.Args...) {
			if word != "" {
				command += " " + setup.Quoted(word)
			}
		}
		if one.URL != "" {
			command += " URL, with its URL" // which may hold a key
		}
	}
	return func(string) string { return command }
}
