package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// build makes all files of the release but checksums and signature.
func (r *release) build(ctx context.Context, twice bool) error {
	pages, err := manual(r.time, r.version)
	if err != nil {
		return err
	}
	var programs []program
	for _, t := range r.targets {
		p, err := r.compile(ctx, t, twice)
		if err != nil {
			return err
		}
		programs = append(programs, p)
		for _, step := range []func(program, []file) error{r.archive, r.packages} {
			if err := step(p, pages); err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
		}
		if err := r.modules(p); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := r.npm(programs); err != nil {
		return err
	}
	if err := r.image(programs); err != nil {
		return err
	}
	if err := r.chart(); err != nil {
		return err
	}
	return r.manifests()
}

// A program is a built weir.
type program struct {
	target target
	data   []byte
}

// compile builds the program: static, stripped, without paths and without an id of the build.
func (r *release) compile(ctx context.Context, t target, twice bool) (program, error) {
	data, err := r.compileIn(ctx, r.source, t)
	if err != nil || !twice {
		return program{t, data}, err
	}
	elsewhere, err := os.MkdirTemp("", "weir-source-")
	if err != nil {
		return program{}, err
	}
	defer os.RemoveAll(elsewhere)
	if err := copySource(elsewhere, r.source); err != nil {
		return program{}, err
	}
	second, err := r.compileIn(ctx, elsewhere, t)
	if err == nil && !bytes.Equal(data, second) {
		err = fmt.Errorf("building %s: two builds differ", t)
	}
	return program{t, data}, err
}

func (r *release) compileIn(ctx context.Context, source string, t target) ([]byte, error) {
	dir, err := os.MkdirTemp("", "weir-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, t.program())
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid= -X github.com/weir-mcp/weir/internal/home.version="+r.version, "-o", name, "./cmd/weir")
	cmd.Dir = source
	// Settings of the machine that end up in the program: the last value of a variable counts.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", "GOFIPS140=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building %s: %w\n%s", t, err, output)
	}
	return os.ReadFile(name)
}

// copySource copies the files that go build reads: nothing that git or npm keep.
func copySource(to, from string) error {
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "dist", "docs"}, entry.Name()) {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if !entry.Type().IsRegular() || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
}
