package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/importer"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/overlay/catalogue"
	"github.com/weir-mcp/weir/policy"
)

// maxFile bounds how much of a file is read, in bytes. Some hosts keep their history beside their servers.
const maxFile = 64 << 20

// found are the configuration files that are looked for in the working directory, in this order.
var found = []string{"weir.yaml", ".mcp.json"}

// A setup is a configuration with the policy that it names.
type setup struct {
	path   string // of the configuration file
	config *config.Config
	policy *policy.Policy
	own    *overlay.Set // the operator's overlays; nil if there are none
	files  []string     // that were read, or looked for
}

// load reads the configuration at path, or if that is "" the one in the working directory, and its policy, or
// the one at policyPath if that is not "". All problems of both are reported together, as [config.Errors]; then
// the setup, if there is one, has no config.
func (e *Env) load(path, policyPath string) (*setup, error) {
	searched := path == ""
	if searched {
		var err error
		if path, err = find(); err != nil {
			return nil, err
		}
		if err := e.trust(path); err != nil {
			return nil, err
		}
	}
	src, err := readFile(path)
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("reading the configuration: %w", err), "")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	entries, err := catalogue.Names()
	if err != nil {
		return nil, fmt.Errorf("reading the catalogue: %w", err)
	}
	s := newSetup(path, path)
	if searched {
		s.files = append(s.files, found[0]) // it would count as soon as it is there
	}
	read := config.Load
	if importer.Detect(path, src) {
		read = importer.Load
	}
	var override error
	if policyPath != "" {
		override = s.loadPolicy(policyPath)
	}
	s.config, err = read(path, src, config.Options{
		Dir:    filepath.Dir(abs),
		Lookup: e.getenv,
		Policy: func(path string) error {
			if policyPath != "" {
				return nil
			}
			return s.loadPolicy(path)
		},
		Overlay: s.loadOverlay, Catalogue: entries,
	})
	if override != nil {
		return nil, joinProblems(err, override)
	}
	return s, err
}

// joinProblems returns all problems of a configuration and of a policy that a flag names.
func joinProblems(err, override error) error {
	var problems config.Errors
	var rules policy.Errors
	if !errors.As(err, &problems) {
		return override
	}
	if !errors.As(override, &rules) {
		return append(problems, config.Problem{Msg: override.Error()})
	}
	for _, p := range rules {
		problems = append(problems, config.Problem(p))
	}
	return problems
}

// loadPolicy reads the policy file at path, or takes the profile of that name.
func (s *setup) loadPolicy(path string) (err error) {
	if _, profile := policy.Profile(path); !profile {
		s.files = append(s.files, path)
	}
	s.policy, err = loadPolicy(path)
	return err
}

// loadPolicy returns the profile of that name, or the policy at path. Its problems are policy.Errors; an unreadable file is bad usage too.
func loadPolicy(path string) (*policy.Policy, error) {
	if p, ok := policy.Profile(path); ok {
		return p, nil
	}
	src, err := readFile(path)
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("reading the policy: %w", err), "")
	}
	return policy.Load(shorten(path), src)
}

// find returns the first of the usual configuration files that there is.
func find() (string, error) {
	for _, name := range found {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
	}
	return "", remedy.Usage(errors.New("no configuration: neither ./weir.yaml nor ./.mcp.json is here"),
		"name one with --config, or put one server behind weir with weir wrap")
}

// trust refuses a configuration that was found in a clone that nobody has confirmed: it may be a stranger's, who would say what Weir is
// to decide and to start.
func (e *Env) trust(name string) error {
	abs, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if why := files.New(files.Options{Confirmed: e.confirmed()}).Cloned(abs); why != "" {
		return remedy.Usage(fmt.Errorf("%s lies in %s, whose authors may have written it", name, why),
			"if it is yours, name it with --config "+name+", or run weir folders confirm for the clone")
	}
	return nil
}

// shorten returns the path relative to the working directory if it is below, for messages.
func shorten(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// readFile reads a file of a bounded size.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(src) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return src, err
}
