// Command release builds everything that a release of Weir has, without a network: programs for each platform,
// archives, packages of Linux distributions, npm packages, an image, manifests of package managers, lists of the linked
// modules, checksums and their signature.
//
//	go run . -version v0.1.0 -key minisign.key -out ../dist
//
// It is a module of its own, so that none of its dependencies is one of Weir's. The same source, version and Go give
// the same files: no file holds a time but that of the commit, a path or a name of the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A release is one run of this program.
type release struct {
	source  string    // the root of Weir's repository
	out     string    // the directory of the files
	version string    // such as v0.1.0
	time    time.Time // of the commit
	targets []target
	sums    map[string]string // SHA-256 of the files in out, by name
}

// A target is a platform, in the words of Go.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// program is the name of the program on the target.
func (t target) program() string {
	if t.os == "windows" {
		return "weir.exe"
	}
	return "weir"
}

const allTargets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	source := flags.String("source", "..", "the root of Weir's repository")
	out := flags.String("out", "../dist", "the directory to write; it is emptied before")
	version := flags.String("version", "", "the version, such as v0.1.0")
	targets := flags.String("targets", allTargets, "platforms, separated by commas")
	key := flags.String("key", "", "file of the minisign key that signs; its password is in MINISIGN_PASSWORD")
	unsigned := flags.Bool("unsigned", false, "write no signature, to try the build")
	again := flags.Bool("twice", false, "build each program twice, the second time from a copy elsewhere, and compare")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if (*key == "") != *unsigned {
		return errors.New("either -key or -unsigned is needed")
	}
	r, err := newRelease(ctx, *source, *out, *version, *targets)
	if err != nil {
		return err
	}
	if !*unsigned {
		if err := compatible(ctx, r.source, r.version); err != nil {
			return err
		}
	}
	if err := r.build(ctx, *again); err != nil {
		return err
	}
	return r.sign(*key)
}

var versions = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

func newRelease(ctx context.Context, source, out, version, targets string) (*release, error) {
	if !versions.MatchString(version) {
		return nil, fmt.Errorf("-version %q is not of the form v1.2.3", version)
	}
	r := &release{version: version, sums: map[string]string{}}
	for name := range strings.SplitSeq(targets, ",") {
		if !strings.Contains(","+allTargets+",", ","+name+",") {
			return nil, fmt.Errorf("-targets: %q is none of %s", name, allTargets)
		}
		system, arch, _ := strings.Cut(name, "/")
		r.targets = append(r.targets, target{system, arch})
	}
	var err error
	if r.source, err = filepath.Abs(source); err != nil {
		return nil, err
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	if r.time, err = commitTime(ctx, r.source); err != nil {
		return nil, err
	}
	return r, emptied(r.out)
}

// emptied makes the directory of the files new. It deletes nothing but the results of an earlier run.
func emptied(dir string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, sumsName)); err != nil {
			return fmt.Errorf("%s is not empty and has no %s: it is not of a release", dir, sumsName)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o755)
}

// commitTime returns the time of the commit, or that of SOURCE_DATE_EPOCH.
func commitTime(ctx context.Context, source string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		output, err := exec.CommandContext(ctx, "git", "-C", source, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("reading the time of the commit (SOURCE_DATE_EPOCH may give it): %w", err)
		}
		text = strings.TrimSpace(string(output))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the time of the commit: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
