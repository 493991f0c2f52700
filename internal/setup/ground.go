package setup

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/policy"
)

// GroundOf returns the meaning of this machine's files under a setup.
func GroundOf(env *home.Env, s *Setup, log *slog.Logger) *files.Ground {
	opts := files.Options{
		Own: ownFiles(env, s), Processes: []int{os.Getpid(), env.Process()}, Servers: map[string]files.Server{}, Folders: s.Config.Folders,
		Confirmed: env.Confirmed(),
		Strange: func(folder, why string) {
			log.Warn("files there count as strangers' text", "folder", folder, "because", why, "hint", "if it is your own work: weir folders confirm "+folder)
		},
	}
	opts.Home, _ = env.Getenv("HOME")
	opts.Dir, _ = env.WorkDir()
	for _, addr := range []string{s.Config.Listen, s.Config.Console} {
		if addr != "" {
			opts.Addresses = append(opts.Addresses, addr)
		}
	}
	for _, server := range s.Config.Servers {
		to := files.Server{Dir: server.Dir}
		if server.Command != "" {
			to.Command = append([]string{server.Command}, server.Args...)
		} else if u, err := url.Parse(server.URL); err == nil {
			to.Far = !config.Loopback(u.Hostname())
		}
		opts.Servers[server.Name] = to
	}
	return files.New(opts)
}

// CheckSecured requires that only the user can change the files that Weir decides by: configuration, policy, overlays,
// pins and state, as far as they are there.
func CheckSecured(env *home.Env, s *Setup) error {
	paths := slices.Concat(s.Files, s.Config.Overlays)
	if !s.Config.Pins.Off && s.Config.Pins.File != "" {
		paths = append(paths, s.Config.Pins.File)
	}
	for _, place := range []func() (string, error){env.StateDir, env.AnchorsDir} {
		if dir, err := place(); err == nil {
			paths = append(paths, dir)
		}
	}
	if store := s.Config.Store; store != "" && store != config.MemoryStore && !strings.Contains(store, "://") {
		paths = append(paths, store)
	}
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return err
		}
		err = files.Secure(abs)
		var insecure *files.Insecure
		if errors.As(err, &insecure) {
			return remedy.Usage(fmt.Errorf("weir decides by %s, which others can change: %w", home.Shorten(p), err), insecure.Fix)
		}
	}
	return nil
}

// ownFiles returns the files and folders that Weir itself reads, writes and runs, which no call may touch.
func ownFiles(env *home.Env, s *Setup) (own []string) {
	add := func(paths ...string) {
		for _, p := range paths {
			if abs, err := filepath.Abs(p); err == nil && p != "" {
				own = append(own, abs)
			}
		}
	}
	c := s.Config
	add(s.Files...)
	add(c.Overlays...)
	if _, profile := policy.Profile(c.Policy); !profile {
		add(c.Policy)
	}
	if !c.Pins.Off {
		add(c.Pins.File)
	}
	if c.Store != "" && c.Store != config.MemoryStore && !strings.Contains(c.Store, "://") {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal", ".capture"} {
			add(c.Store + suffix)
		}
	}
	if c.Record != config.NoRecord {
		add(c.Record)
	}
	add(c.HTTP.Cert, c.HTTP.Key)
	add(c.Checkpoints.Signer.Command...) // the program, and scripts among its arguments
	for _, p := range c.Checkpoints.Publish {
		add(p.File)
	}
	if dir, err := env.StateDir(); err == nil {
		add(dir)
	}
	if dir, err := env.RunDir(); err == nil {
		add(dir)
	}
	if dir, err := env.AnchorsDir(); err == nil {
		add(dir)
	}
	if exe, err := os.Executable(); err == nil {
		add(exe)
	}
	return own
}
