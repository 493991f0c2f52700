package cli

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
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/policy"
)

// ground returns what is known of this machine's files under a setup.
func (e *Env) ground(s *setup, log *slog.Logger) *files.Ground {
	opts := files.Options{
		Own: e.ownFiles(s), Processes: []int{os.Getpid()}, Servers: map[string]files.Server{}, Folders: s.config.Folders,
		Confirmed: e.confirmed(),
		Strange: func(folder, why string) {
			log.Warn("files there count as strangers' text", "folder", folder, "because", why, "hint", "if it is your own work: weir folders confirm "+folder)
		},
	}
	opts.Home, _ = e.getenv("HOME")
	opts.Dir, _ = filepath.Abs(".")
	for _, addr := range []string{s.config.Listen, s.config.Console} {
		if addr != "" {
			opts.Addresses = append(opts.Addresses, addr)
		}
	}
	for _, server := range s.config.Servers {
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

// secured looks whether only the user can change what Weir decides by: its configuration, policy, overlays, pins and state, as far as
// they are there.
func (e *Env) secured(s *setup) error {
	paths := slices.Concat(s.files, s.config.Overlays)
	if !s.config.Pins.Off && s.config.Pins.File != "" {
		paths = append(paths, s.config.Pins.File)
	}
	for _, place := range []func() (string, error){e.stateDir, e.anchorsDir} {
		if dir, err := place(); err == nil {
			paths = append(paths, dir)
		}
	}
	if store := s.config.Store; store != "" && store != config.MemoryStore && !strings.Contains(store, "://") {
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
			return remedy.Usage(fmt.Errorf("weir decides by %s, which others can change: %w", shorten(p), err), insecure.Fix)
		}
	}
	return nil
}

// confirmed returns the file of folders that a person has confirmed; nil if there is no place for it.
func (e *Env) confirmed() *files.Confirmed {
	dir, err := e.stateDir()
	if err != nil {
		return nil
	}
	return files.OpenConfirmed(filepath.Join(dir, files.ConfirmedName))
}

// ownFiles returns the files and folders that Weir itself reads, writes and runs, which no call may touch.
func (e *Env) ownFiles(s *setup) (own []string) {
	add := func(paths ...string) {
		for _, p := range paths {
			if abs, err := filepath.Abs(p); err == nil && p != "" {
				own = append(own, abs)
			}
		}
	}
	c := s.config
	add(s.files...)
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
	if dir, err := e.stateDir(); err == nil {
		add(dir)
	}
	if dir, err := e.runDir(); err == nil {
		add(dir)
	}
	if dir, err := e.anchorsDir(); err == nil {
		add(dir)
	}
	if exe, err := os.Executable(); err == nil {
		add(exe)
	}
	return own
}
