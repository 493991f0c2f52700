package setup

import (
	"fmt"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/overlay/catalogue"
)

// New returns a setup by the built-in policy, without a configuration yet. The files are those that it was read from.
func New(path string, files ...string) *Setup {
	return &Setup{Path: path, Files: files}
}

// UseOverlay reads an overlay file and puts it after those before.
func (s *Setup) UseOverlay(path string) error {
	s.Files = append(s.Files, path)
	set, err := LoadOverlay(path)
	if err == nil {
		s.Overlays = overlay.Join(s.Overlays, set)
	}
	return err
}

// LoadOverlay returns the overlays of a file. Its problems are overlay.Errors; an unreadable file is bad usage too.
func LoadOverlay(path string) (*overlay.Set, error) {
	src, err := home.ReadFile(path)
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("reading overlays: %w", err), "")
	}
	return overlay.Load(home.Shorten(path), src)
}

// Servers returns the enabled servers as the gateway takes them, with the overlays of the operator and of the
// catalogue.
func (s *Setup) Servers(keys *Keychain) ([]gateway.Server, error) {
	servers := keys.Upstreams(s.Config)
	for i := range servers {
		o, err := s.overlayOf(servers[i])
		if err != nil {
			return nil, err
		}
		servers[i].Overlay, servers[i].Place = o, placeOf(s, servers[i].Name)
		if servers[i].Place == "" {
			servers[i].Via = via(&servers[i].Spec)
		}
	}
	return servers, nil
}

// Who returns a server as overlays are matched with it.
func Who(name string, spec *upstream.Spec) overlay.Server {
	return overlay.Server{Name: name, Command: spec.Command, URL: spec.URL, Env: spec.Env}
}

func (s *Setup) overlayOf(server gateway.Server) (*overlay.Overlay, error) {
	who := Who(server.Name, &server.Spec)
	own := s.Overlays.For(who)
	find := func() (*overlay.Overlay, error) { return catalogue.For(who) }
	for _, c := range s.Config.Servers {
		switch {
		case c.Name != server.Name:
		case s.Config.NoCatalogue && c.Catalogue == "", c.Catalogue == config.NoCatalogue:
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
