package guard

import (
	"context"
	"fmt"
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
	l := f.Session.Label.Taint()
	if l.IsZero() {
		return nil
	}
	l.Attribution = label.SetOf(c.URI())
	for _, uri := range f.Resources.Writes {
		name := resourceName(uri)
		if name == "" {
			continue // an argument without which there is no resource
		}
		there, err := g.opts.Taints.Tainted(ctx, name)
		if err != nil {
			return fmt.Errorf("reading the label of a resource: %w", err)
		}
		if there.Covers(l) {
			continue
		}
		e := g.event(record.Taint, c)
		e.Where, e.Label = name, &l
		if err := g.opts.Record.Record(ctx, e); err != nil {
			return fmt.Errorf("recording the label of a resource: %w", err)
		}
		if err := g.opts.Taints.Taint(ctx, name, l); err != nil {
			return fmt.Errorf("labelling a resource: %w", err)
		}
	}
	return nil
}

// tainted returns the label of the resources that a call has read.
func (g *Guard) tainted(ctx context.Context, c *Call, resources policy.Resources) (l label.Label, err error) {
	if g.opts.Taints == nil {
		return l, nil
	}
	reads := resources.Reads
	if c.Method == "resources/read" {
		reads = append(slices.Clip(reads), c.Name)
	}
	for _, uri := range reads {
		name := resourceName(uri)
		if name == "" {
			continue
		}
		more, err := g.opts.Taints.Tainted(ctx, name)
		if err != nil {
			return l, fmt.Errorf("reading the label of a resource: %w", err)
		}
		l = label.Join(l, more)
	}
	return l, nil
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
