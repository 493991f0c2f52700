package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/spelling"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
)

// Finish expands variables, resolves paths and checks the whole. The error is [Errors] with every problem,
// those that the reader found included; the draft must not be used afterwards.
func (d *Draft) Finish(opts Options) (*Config, error) {
	c := &d.Config
	dir := opts.Dir
	if dir == "" {
		dir = filepath.Dir(d.File)
	}
	for i := range c.Servers {
		checkServer(d, &c.Servers[i], opts, dir)
	}
	checkReaders(d)
	checkListener(d, opts, dir)
	checkNotify(d, opts)
	checkQuarantine(d, opts)
	checkDetection(d, opts, dir)
	if len(d.problems) == 0 && !slices.ContainsFunc(c.Servers, func(s Server) bool { return !s.Disabled }) {
		d.Fault(d.Place(Pointer("servers")), "add a server, or enable one", "there is no server to serve")
	}
	c.Pins.File = resolve(dir, c.Pins.File)
	if _, profile := policy.Profile(c.Policy); !profile {
		c.Policy = resolve(dir, c.Policy)
	}
	if c.Record != NoRecord {
		c.Record = resolve(dir, c.Record)
	}
	checkFolders(d, opts, dir)
	checkStore(d, opts, dir)
	checkPublications(d, opts, dir)
	warnRelaxed(d)
	if c.Policy != "" && opts.Policy != nil {
		d.checkPolicy(opts.Policy(c.Policy))
	}
	d.checkOverlays(opts, dir)
	if len(d.problems) > 0 {
		sortProblems(d.problems, d.File)
		return nil, d.problems
	}
	sortProblems(d.warnings, d.File)
	c.Warnings = d.warnings
	return c, nil
}

func (d *Draft) checkPolicy(err error) {
	var problems policy.Errors
	switch {
	case err == nil:
	case errors.As(err, &problems):
		d.problems = append(d.problems, problems...)
	default:
		d.Fault(d.Place(Pointer("policy")), "the path is relative to this file", "%v", err)
	}
}

// checkOverlays resolves the paths of overlay files and checks how they and the servers refer to the built-in overlays.
func (d *Draft) checkOverlays(opts Options, dir string) {
	c := &d.Config
	for i, path := range c.Overlays {
		c.Overlays[i] = resolve(dir, path)
		if path == "" || opts.Overlay == nil {
			continue
		}
		err := opts.Overlay(c.Overlays[i])
		var problems overlay.Errors
		switch {
		case err == nil:
		case errors.As(err, &problems):
			d.problems = append(d.problems, problems...)
		default:
			d.Fault(d.Place(Pointer("overlays", strconv.Itoa(i))), "the path is relative to this file", "%v", err)
		}
	}
	for _, s := range c.Servers {
		named := s.Catalogue != "" && s.Catalogue != NoCatalogue
		if named && opts.Catalogue != nil && !slices.Contains(opts.Catalogue, s.Catalogue) {
			hint := "weir overlay list names the entries"
			if near := spelling.Nearest(s.Catalogue, opts.Catalogue); near != "" {
				hint = "did you mean " + near + "?"
			}
			d.Fault(d.Place(Pointer("servers", s.Name, "catalogue")), hint, "server %.80q: the catalogue has no entry %.80q", s.Name, s.Catalogue)
		}
	}
}

// checkFolders resolves the folders of the user's own work. A folder around everything would make every file the user's own.
func checkFolders(d *Draft, opts Options, dir string) {
	for i, f := range d.Config.Folders {
		at := d.Place(Pointer("folders", strconv.Itoa(i)))
		if rest, ok := strings.CutPrefix(f, "~"); ok && (rest == "" || rest[0] == '/') {
			home, _ := lookUp(opts.Lookup, "HOME")
			if home == "" {
				d.Fault(at, "write its absolute path", "folders: HOME is not set, so %.80q cannot be found", f)
			}
			f = home + rest
		}
		if f = filepath.Clean(resolve(dir, f)); filepath.Dir(f) == f {
			d.Fault(at, "name the folders of your own work", "folders: %.80q is all of the disk", f)
		}
		d.Config.Folders[i] = f
	}
}
