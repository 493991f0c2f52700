package app

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/hook"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/overlay"
)

// A Hook is an event of a host, and how it is decided on.
type Hook struct {
	Env     *home.Env // with the variables of the host
	Config  string    // the path of the configuration; "" for the built-in one
	Entries []string  // names of the host's entries that run Weir
	Event   *hook.Event
}

// ofEntry finds the variables that only Weir's entry in a list of servers has: see package install.
var ofEntry = pattern.New(`WEIR_VALUE_[0-9]+`)

// hookSetup reads the configuration at a path, or returns the built-in one for "". No server of it is started.
func hookSetup(env *home.Env, path string) (*setup.Setup, error) {
	s := setup.New(path)
	if path == "" {
		draft := config.NewDraft("")
		draft.Config.Servers = []config.Server{{Name: hook.Server, Command: hook.Server}} // a configuration has one at least
		var err error
		s.Config, err = draft.Finish(config.Options{Lookup: env.Getenv})
		return s, err
	}
	text, err := home.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w; run weir install again, or weir uninstall", err)
	}
	for _, name := range ofEntry().FindAllString(string(text), -1) {
		env.Environ = append(env.Environ, name+"=https://host.invalid/")
	}
	if s, err = setup.Load(env, path, ""); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(s.Config.Servers, func(c config.Server) bool { return c.Name == hook.Server }) {
		return nil, remedy.Usage(fmt.Errorf("a server of %s is called %s, as the tools of the host itself are", path, hook.Server), "rename it")
	}
	return s, setup.CheckSecured(env, s)
}

// hostOverlay returns the description of the tools of a host, by the operator and by Weir.
func hostOverlay(s *setup.Setup, h *hook.Host) (*overlay.Overlay, error) {
	known, err := h.Overlay()
	if err != nil {
		return nil, err
	}
	who := overlay.Server{Name: hook.Server}
	return overlay.Stack(s.Overlays.For(who), known.For(who)), nil
}

// hostGround returns the files of this machine for the tools of a host.
func hostGround(env *home.Env, s *setup.Setup, told *hook.Event) *files.Ground {
	with, c := *s, *s.Config
	c.Servers = append(slices.Clip(c.Servers), config.Server{Name: hook.Server, Command: told.Host.ID, Dir: told.Folder})
	with.Config = &c
	return setup.GroundOf(env, &with, slog.New(slog.DiscardHandler))
}
