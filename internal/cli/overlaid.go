package cli

import (
	"fmt"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/overlay/catalogue"
	"github.com/weir-mcp/weir/policy"
)

// newSetup returns a setup by the built-in policy, without a configuration yet. The files are those that it was read from.
func newSetup(path string, files ...string) *setup {
	return &setup{path: path, policy: policy.Default(), files: files}
}

// loadOverlay reads an overlay file and puts it after those before.
func (s *setup) loadOverlay(path string) error {
	s.files = append(s.files, path)
	set, err := loadOverlay(path)
	if err == nil {
		s.own = overlay.Join(s.own, set)
	}
	return err
}

// loadOverlay returns the overlays of a file. Its problems are overlay.Errors; an unreadable file is bad usage too.
func loadOverlay(path string) (*overlay.Set, error) {
	src, err := readFile(path)
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("reading overlays: %w", err), "")
	}
	return overlay.Load(shorten(path), src)
}

// servers returns what the gateway needs to know of the enabled servers, with what the operator and the catalogue say of them.
func (s *setup) servers(keys *keychain) ([]gateway.Server, error) {
	servers := keys.upstreams(s.config)
	for i := range servers {
		o, err := s.overlayOf(servers[i])
		if err != nil {
			return nil, err
		}
		servers[i].Overlay = o
	}
	return servers, nil
}

func (s *setup) overlayOf(server gateway.Server) (*overlay.Overlay, error) {
	who := overlay.Server{Name: server.Name, Command: server.Spec.Command, URL: server.Spec.URL}
	own := s.own.For(who)
	find := func() (*overlay.Overlay, error) { return catalogue.For(who) }
	for _, c := range s.config.Servers {
		switch {
		case c.Name != server.Name:
		case s.config.NoCatalogue && c.Catalogue == "", c.Catalogue == config.NoCatalogue:
			return own, nil
		case c.Catalogue != "":
			find = func() (*overlay.Overlay, error) { return catalogue.Named(c.Catalogue) }
		}
	}
	known, err := find()
	if err != nil {
		return nil, fmt.Errorf("reading the catalogue: %w", err)
	}
	return overlay.Stack(own, known), nil
}
