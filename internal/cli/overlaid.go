package cli

import (
	"fmt"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/overlay/catalogue"
	"github.com/weir-mcp/weir/policy"
)

// newSetup returns a setup by the built-in policy, without a configuration yet. The files are those that it was read from.
func newSetup(path string, files ...string) (*setup, error) {
	known, err := catalogue.Load()
	if err != nil {
		return nil, fmt.Errorf("loading the catalogue: %w", err)
	}
	return &setup{path: path, policy: policy.Default(), known: known, files: files}, nil
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
		return nil, &failure{exitUsage, fmt.Errorf("reading overlays: %w", err), ""}
	}
	return overlay.Load(shorten(path), src)
}

func entryNames(s *overlay.Set) []string {
	names := []string{}
	for _, e := range s.Entries() {
		names = append(names, e.Name)
	}
	return names
}

// overlaid adds to the servers what the operator and the catalogue say of them.
func (s *setup) overlaid(servers []gateway.Server) []gateway.Server {
	for i := range servers {
		servers[i].Overlay = s.overlayOf(servers[i])
	}
	return servers
}

func (s *setup) overlayOf(server gateway.Server) *overlay.Overlay {
	who := overlay.Server{Name: server.Name, Command: server.Spec.Command, URL: server.Spec.URL}
	known := s.known.For(who)
	for _, c := range s.config.Servers {
		switch {
		case c.Name != server.Name:
		case s.config.NoCatalogue && c.Catalogue == "", c.Catalogue == config.NoCatalogue:
			known = nil
		case c.Catalogue != "":
			known = s.known.Named(c.Catalogue)
		}
	}
	return overlay.Stack(s.own.For(who), known)
}
