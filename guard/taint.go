package guard

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// Taints remembers the labels of resources that agents wrote to: an answer to an open question of SEP-1913 (taint across
// sessions). What a session had seen when it wrote to a file, a row or a page comes back with it, in whatever session reads it.
type Taints interface {
	// Taint joins the label into that of the resource. It returns when that is durable.
	Taint(ctx context.Context, resource string, l label.Label) error

	// Tainted returns the join of the labels of the resource, of what it is part of and of what is part of it, by the
	// slashes in its name.
	Tainted(ctx context.Context, resource string) (label.Label, error)
}

// taint gives the label of the session to the resources that a call is going to write to, before it goes out. What carries no
// label needs none.
func (g *Guard) taint(ctx context.Context, c *Call, f *policy.Facts) error {
	if g.opts.Taints == nil || len(f.Resources.Writes) == 0 {
		return nil
	}
	moved, err := g.contents(ctx, c, f.Resources)
	if err != nil {
		return err
	}
	l := label.Join(f.Session.Label, moved).Taint()
	for _, uri := range f.Resources.Writes {
		l := label.Join(l, downloaded(c, uri))
		if l.IsZero() {
			continue
		}
		l.Attribution = label.SetOf(c.URI())
		for _, name := range g.resourceNames(c, uri) {
			if err := g.taintOne(ctx, c, name, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// downloaded returns the label of a file that a call writes by itself: of a tool whose results strangers may have written,
// so may they the file. Elsewhere the contract of the tool that reads it says so.
func downloaded(c *Call, uri string) label.Label {
	if scheme, _, _ := strings.Cut(uri, ":"); !strings.EqualFold(scheme, "file") || !c.Effective.Sources.Has(label.UntrustedPublic) {
		return label.Label{}
	}
	return strangers()
}

// below stands for what is in a resource, but for its parts that have labels of their own: no argument has this name.
const below = "/{}"

// taintOne joins a label into that of a resource, unless it, or what it is part of, has it already.
func (g *Guard) taintOne(ctx context.Context, c *Call, name string, l label.Label) error {
	there, err := g.opts.Taints.Tainted(ctx, strings.TrimSuffix(name, "/")+below)
	if err != nil {
		return fmt.Errorf("reading the label of a resource: %w", err)
	}
	if there.Covers(l) {
		return nil
	}
	e := g.event(record.Taint, c)
	e.Where, e.Label = name, &l
	if err := g.opts.Record.Record(ctx, e); err != nil {
		return fmt.Errorf("recording the label of a resource: %w", err)
	}
	if err := g.opts.Taints.Taint(ctx, name, l); err != nil {
		return fmt.Errorf("labelling a resource: %w", err)
	}
	return nil
}

// contents returns the label of what a call reads: what was written there before, and whether strangers may have written it. A
// move, a copy, an archive or an export carries it to what it writes.
func (g *Guard) contents(ctx context.Context, c *Call, r policy.Resources) (label.Label, error) {
	reads := g.readsOf(c, r)
	l, err := g.tainted(ctx, c, reads)
	return label.Join(l, g.foreign(c, reads)), err
}

// read returns the label of what a call has returned of the resources that it read. A contract may say that the call returns
// nothing of theirs; labels of what was written there before count all the same.
func (g *Guard) read(ctx context.Context, c *Call, r policy.Resources) (label.Label, error) {
	if _, known := c.Effective.Sources.Known(); known && !returnsData(c) {
		return g.tainted(ctx, c, g.readsOf(c, r))
	}
	return g.contents(ctx, c, r)
}

// returnsData reports whether a call may return data of anybody, by its contract.
func returnsData(c *Call) bool {
	for _, s := range c.Effective.Sources.Set().Slice() {
		if s != label.System {
			return true
		}
	}
	return false
}

// tainted returns the label of what was written to resources.
func (g *Guard) tainted(ctx context.Context, c *Call, uris []string) (l label.Label, err error) {
	if g.opts.Taints == nil {
		return l, nil
	}
	for _, uri := range uris {
		for _, name := range g.resourceNames(c, uri) {
			more, err := g.opts.Taints.Tainted(ctx, name)
			if err != nil {
				return l, fmt.Errorf("reading the label of a resource: %w", err)
			}
			l = label.Join(l, more)
		}
	}
	return l, nil
}

// resourceNames returns the names under which a resource has its label: of a file of this machine, those of every file that the
// server may take it for, and its own; none if an argument is missing without which there is no resource.
func (g *Guard) resourceNames(c *Call, uri string) (names []string) {
	name := resourceName(uri)
	if name == "" {
		return nil
	}
	names = append(names, name)
	path, ok := strings.CutPrefix(name, "file://")
	if !ok || g.opts.Files == nil {
		return names
	}
	for _, at := range g.opts.Files.Locate(c.Server, "file://"+path).Names {
		if len(at) > 1 && (at[1] == ':' || at[0] == '\\') { // of Windows
			at = strings.ReplaceAll(at, `\`, "/")
		}
		at = (&url.URL{Path: at}).EscapedPath()
		if file := resourceName("file://" + at); !slices.Contains(names, file) {
			names = append(names, file)
		}
	}
	return names
}

// resourceName returns the one name of all spellings of a URI: without fragment, its scheme and host in lower case, its path
// cleaned of "." and "..". Where an argument is missing, in braces, it is that of the whole that any value would be part of.
func resourceName(uri string) string {
	uri, _, _ = strings.Cut(uri, "#")
	if before, _, open := strings.Cut(uri, "{"); open {
		uri = before[:strings.LastIndexByte(before, '/')+1]
	}
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return clean(uri)
	}
	host, below := "", rest
	if i := strings.IndexByte(rest, '/'); i > 0 && !strings.HasPrefix(rest, ".") && scheme != "file" {
		host, below = strings.ToLower(rest[:i]), rest[i:]
	}
	return strings.ToLower(scheme) + "://" + host + clean(below)
}

// clean returns the shortest path that is the same. One that leads above its beginning is its beginning.
func clean(p string) string {
	rooted := strings.HasPrefix(p, "/")
	p = strings.TrimPrefix(path.Clean("/"+p), "/")
	if rooted {
		p = "/" + p
	}
	return p
}
