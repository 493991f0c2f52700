package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/importer"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/overlay/catalogue"
	"github.com/weir-mcp/weir/policy"
)

// found are the configuration files that are looked for in the working directory, in this order.
var found = []string{"weir.yaml", ".mcp.json"}

// Load reads the configuration at path, or if that is "" the one in the working directory, and its policy, or
// the one at policyPath if that is not "". All problems of both are reported together, as [config.Errors]; then
// the setup, if there is one, has no config.
func Load(env *home.Env, path, policyPath string) (*Setup, error) {
	searched := path == ""
	if searched {
		var err error
		if path, err = Find(); err != nil {
			return nil, err
		}
		if err := checkTrusted(env, path); err != nil {
			return nil, err
		}
	}
	src, err := home.ReadFile(path)
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
	s := New(path, path)
	if searched {
		s.Files = append(s.Files, found[0]) // it would count as soon as it is there
	}
	read := config.Load
	if importer.Detect(path, src) {
		read = importer.Load
	}
	var override error
	if policyPath != "" {
		override = s.UsePolicy(policyPath)
	}
	s.Config, err = read(path, src, config.Options{
		Dir:    filepath.Dir(abs),
		Lookup: env.Getenv,
		Policy: func(path string) error {
			if policyPath != "" {
				return nil
			}
			return s.UsePolicy(path)
		},
		Overlay: s.UseOverlay, Catalogue: entries, Rules: s.UseRules, Findings: findings(),
	})
	if override != nil {
		return nil, joinProblems(err, override)
	}
	return s, err
}

// joinProblems returns all problems of a configuration and of a policy that a flag names.
func joinProblems(err, override error) error {
	var problems, rules config.Errors
	if !errors.As(err, &problems) {
		return override
	}
	if !errors.As(override, &rules) {
		return append(problems, config.Problem{Msg: override.Error()})
	}
	return append(problems, rules...)
}

// LoadPolicy returns the profile of that name, or the policy at path. Its problems are policy.Errors; an unreadable
// file is bad usage too.
func LoadPolicy(path string) (*policy.Policy, error) {
	if p, ok := policy.Profile(path); ok {
		return p, nil
	}
	src, err := home.ReadFile(path)
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("reading the policy: %w", err), "")
	}
	return policy.Load(home.Shorten(path), src)
}

// Find returns the first of the usual configuration files that there is.
func Find() (string, error) {
	for _, name := range found {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
	}
	return "", remedy.Usage(errors.New("no configuration: neither ./weir.yaml nor ./.mcp.json is here"),
		"name one with --config, or put one server behind weir with weir wrap")
}

// checkTrusted refuses a configuration that was found in a clone that the user has not confirmed: it may be untrusted
// content, and it would name the policy and the programs to start.
func checkTrusted(env *home.Env, name string) error {
	abs, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if why := files.New(files.Options{Confirmed: env.Confirmed()}).Cloned(abs); why != "" {
		return remedy.Usage(fmt.Errorf("%s lies in %s, whose authors may have written it", name, why),
			"if it is yours, name it with --config "+name+", or run weir folders confirm for the clone")
	}
	return nil
}
