package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/mod/semver"
	"golang.org/x/tools/go/packages"
)

// compatible holds the public API against that of the release before version, by the rules of CONTRIBUTING.md: only a
// minor version takes away or changes declarations, from 1.0 on a major one, and CHANGELOG.md names each. A repository
// without a release has none to compare with. An empty version is the next one that may do so.
func compatible(ctx context.Context, source, version string) error {
	last, err := lastRelease(ctx, source, version)
	if err != nil || last == "" {
		return err
	}
	before, err := os.MkdirTemp("", "weir-api-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(before)
	if err := checkout(ctx, source, last, before); err != nil {
		return fmt.Errorf("reading the source of %s: %w", last, err)
	}
	changes, err := incompatible(ctx, before, source)
	if err != nil || len(changes) == 0 {
		return err
	}
	if version != "" && sameAPI(last, version) {
		return fmt.Errorf("%s may not change the public API of %s:\n\t%s", version, last, strings.Join(changes, "\n\t"))
	}
	return named(source, version, changes)
}

// sameAPI reports whether the later version may only add to the API of the other.
func sameAPI(last, version string) bool {
	if semver.Major(version) == "v0" {
		return semver.MajorMinor(last) == semver.MajorMinor(version)
	}
	return semver.Major(last) == semver.Major(version)
}

// lastRelease returns the last tag of a release before version; "" if there is none.
func lastRelease(ctx context.Context, source, version string) (string, error) {
	output, err := exec.CommandContext(ctx, "git", "-C", source, "tag", "--list", "v*", "--merged", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("reading the tags of releases: %w", err)
	}
	last := ""
	for tag := range strings.FieldsSeq(string(output)) {
		earlier := version == "" || semver.Compare(tag, version) < 0
		if semver.IsValid(tag) && semver.Prerelease(tag) == "" && earlier && semver.Compare(tag, last) > 0 {
			last = tag
		}
	}
	return last, nil
}

// checkout writes the files of a commit into a directory.
func checkout(ctx context.Context, source, commit, dir string) (err error) {
	cmd := exec.CommandContext(ctx, "git", "-C", source, "archive", commit)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cmd.Wait()) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for files := tar.NewReader(out); ; {
		h, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := filepath.FromSlash(h.Name)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		data, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		if err := root.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
}

// incompatible returns the changes of the public API that may break programs that import it.
func incompatible(ctx context.Context, before, after string) (changes []string, err error) {
	old, err := public(ctx, before)
	if err != nil {
		return nil, err
	}
	now, err := public(ctx, after)
	if err != nil {
		return nil, err
	}
	for path, p := range old {
		name := path[strings.LastIndexByte(path, '/')+1:]
		if now[path] == nil {
			changes = append(changes, name+": package removed")
			continue
		}
		for _, c := range apidiff.Changes(p.Types, now[path].Types).Changes {
			if !c.Compatible {
				changes = append(changes, name+"."+c.Message)
			}
		}
	}
	slices.Sort(changes)
	return changes, nil
}

// public loads the packages of a module that others may import, and are meant to.
func public(ctx context.Context, dir string) (map[string]*packages.Package, error) {
	load := func(mode packages.LoadMode, patterns ...string) ([]*packages.Package, error) {
		env := append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
		return packages.Load(&packages.Config{Context: ctx, Dir: dir, Mode: mode, Env: env}, patterns...)
	}
	all, err := load(packages.NeedName|packages.NeedModule, "./...")
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, p := range all {
		if p.Module == nil || p.Name == "main" {
			continue
		}
		top, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, p.Module.Path), "/"), "/")
		if !slices.Contains([]string{"internal", "cmd", "e2e", "examples", "api"}, top) {
			paths = append(paths, p.PkgPath)
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s has no public package", dir)
	}
	loaded, err := load(packages.NeedName|packages.NeedTypes|packages.NeedImports|packages.NeedDeps, paths...)
	if err != nil {
		return nil, err
	}
	public := map[string]*packages.Package{}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("loading %s: %w", p.PkgPath, p.Errors[0])
		}
		public[p.PkgPath] = p
	}
	return public, nil
}

// named returns the changes of which CHANGELOG.md names no declaration, as an error. The section is that of the
// version, or else the unreleased one.
func named(source, version string, changes []string) error {
	page, err := os.ReadFile(filepath.Join(source, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	section := ""
	for _, title := range []string{"## [" + strings.TrimPrefix(version, "v") + "]", "## [Unreleased]"} {
		if _, after, ok := strings.Cut(string(page), title); ok && section == "" {
			section, _, _ = strings.Cut(after, "\n## [")
		}
	}
	changes = slices.DeleteFunc(changes, func(c string) bool {
		name, _, _ := strings.Cut(c, ": ")
		name = name[strings.LastIndexByte(name, '.')+1:]
		return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(section)
	})
	if len(changes) > 0 {
		return fmt.Errorf("CHANGELOG.md has to name the replacement of:\n\t%s", strings.Join(changes, "\n\t"))
	}
	return nil
}
