package setup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/evidence"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/policy"
)

// Words returns the reader and the writers of annotations.
func Words(w config.Words) (words annotation.Words, err error) {
	words.Reader = annotation.NewReader(w.Labels)
	if w.ToHosts != nil {
		if words.ToHosts, err = annotation.NewWriter(annotation.Lossless(w.ToHosts...)...); err != nil {
			return words, fmt.Errorf("annotations.to_hosts: %w", err)
		}
	}
	if w.ToServers != nil {
		if words.ToServers, err = annotation.NewWriter(w.ToServers...); err != nil {
			return words, fmt.Errorf("annotations.to_servers: %w", err)
		}
	}
	if len(w.Evidence) > 0 {
		if words.Records, err = evidence.New(w.Evidence...); err != nil {
			return words, fmt.Errorf("annotations.evidence: %w", err)
		}
	}
	return words, nil
}

// Upstreams returns the enabled servers as the gateway takes them.
func (k *Keychain) Upstreams(c *config.Config) []gateway.Server {
	var out []gateway.Server
	for _, s := range c.Servers {
		if s.Disabled {
			continue
		}
		spec := upstream.Spec{Name: s.Name, Dir: s.Dir, URL: s.URL, SSE: s.Transport == config.SSE, Headers: s.Headers, Auth: k.auth(s)}
		if s.Command != "" {
			spec.Command = append([]string{s.Command}, s.Args...)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			spec.Env = append(spec.Env, name+"="+s.Env[name])
		}
		out = append(out, gateway.Server{
			Name: s.Name, Spec: spec, Trust: s.Trust, Timeout: s.Timeout, Resolve: s.Resolve, Hide: s.Hide, Readers: s.Readers,
			Way: guard.Way{Reached: reached(&spec)}, Program: program(&spec), Expose: exposure(s.Expose),
		})
	}
	return out
}

// placeOf returns a text that no other entry of a configuration file has, so that breaches of a server go on with it
// when its command is changed; "" for one that is in no file, such as that of weir wrap.
func placeOf(s *Setup, name string) string {
	if !slices.Contains(s.Files, s.Path) {
		return ""
	}
	abs, err := filepath.Abs(s.Path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", abs, name))
	return hex.EncodeToString(sum[:16])
}

// exposure returns the conditions on tools, which were read once already. One that cannot be read holds for no tool.
func exposure(texts []string) guard.Exposure {
	all := make(guard.Exposure, len(texts))
	for i, text := range texts {
		all[i], _ = policy.ParseSelection(text)
	}
	return all
}

// reached returns a text that no server has that is reached in another way: by another URL, or by another command or in
// another folder, which says more of the program than its words do.
func reached(spec *upstream.Spec) string {
	folder := ""
	if spec.URL == "" {
		var err error
		if folder, err = filepath.Abs(spec.Dir); err != nil {
			return ""
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %t", spec.Command, folder, spec.URL, spec.SSE))
	return hex.EncodeToString(sum[:16])
}

// program returns a text that stands for the command of a server in any folder, where it may run another program; "" if
// it has no command.
func program(spec *upstream.Spec) string {
	if spec.URL != "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", spec.Command))
	return hex.EncodeToString(sum[:16])
}

// MissingCommands returns the problems of servers whose command is not there. No problem quotes a command.
func MissingCommands(c *config.Config) []config.Problem {
	var problems []config.Problem
	for _, s := range c.Servers {
		if s.Disabled || s.Command == "" {
			continue
		}
		if _, err := exec.LookPath(s.Command); err != nil && !errors.Is(err, exec.ErrDot) {
			problems = append(problems, config.Problem{Msg: fmt.Sprintf("server %q: its command is not found", s.Name),
				Hint: "install it, or write its path"})
		}
	}
	return problems
}
