package guard

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
)

// Taints remembers the labels of resources that agents wrote to: an answer to an open question of SEP-1913 (taint
// across sessions). The label of the session that wrote to a file, a row or a page comes back with it, in every session
// that reads it.
type Taints interface {
	// Taint joins the label into that of the resource. It returns when that is durable.
	Taint(ctx context.Context, resource string, l label.Label) error

	// Tainted returns the join of the labels of the resource, of its wholes and of its parts, by the
	// slashes in its name.
	Tainted(ctx context.Context, resource string) (label.Label, error)
}

// A resourceLabels labels resources that calls write to, and reads the labels back.
type resourceLabels struct {
	taints   Taints // nil: resources have no labels
	machine  machine
	evidence *evidence
}

// write gives the label of the session to the resources that a call is going to write to, before it goes out, and that of hidden
// values in it to its server. A session without a label gives none.
func (t *resourceLabels) write(ctx context.Context, r *request, seen label.Label) error {
	if t.taints == nil {
		return nil
	}
	if err := t.give(ctx, r); err != nil || len(r.resources.Writes) == 0 {
		return err
	}
	moved, err := t.contents(ctx, r)
	if err != nil {
		return err
	}
	l := label.Join(withoutAlerts(seen), moved).Taint()
	for _, uri := range r.resources.Writes {
		l := label.Join(l, downloaded(r, uri))
		if l.IsZero() {
			continue
		}
		l.Attribution = label.SetOf(r.uri)
		for _, name := range t.names(r, uri) {
			if err := t.writeOne(ctx, r, name, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// downloaded returns the label of a file that a call writes by itself: of a tool whose results may be untrusted, the
// file may be untrusted too. Elsewhere the contract of the tool that reads it says so.
func downloaded(r *request, uri string) label.Label {
	if scheme, _, _ := strings.Cut(uri, ":"); !strings.EqualFold(scheme, "file") || !r.Effective.Sources.Has(label.UntrustedPublic) {
		return label.Label{}
	}
	return untrusted()
}

// below stands for the content of a resource, but for its parts that have labels of their own: no argument has this
// name.
const below = "/{}"

// writeOne joins a label into that of a resource, unless it, or the whole that it is part of, has it already.
func (t *resourceLabels) writeOne(ctx context.Context, r *request, name string, l label.Label) error {
	there, err := t.taints.Tainted(session.Afresh(ctx), strings.TrimSuffix(name, "/")+below)
	if err != nil {
		return fmt.Errorf("reading the label of a resource: %w", err)
	}
	if there.Covers(l) {
		return nil
	}
	e := t.evidence.event(record.Taint, &r.Call)
	e.Where, e.Label = name, &l
	if err := t.evidence.state.Record(ctx, e); err != nil {
		return fmt.Errorf("recording the label of a resource: %w", err)
	}
	if err := t.taints.Taint(ctx, name, l); err != nil {
		return fmt.Errorf("labelling a resource: %w", err)
	}
	return nil
}

// contents returns the label of the resources that a call reads: of earlier writes, and of untrusted files. A move, a
// copy, an archive or an export carries it to the resources that it writes.
func (t *resourceLabels) contents(ctx context.Context, r *request) (label.Label, error) {
	reads := t.machine.readsOf(r)
	l, err := t.written(ctx, r, reads)
	return label.Join(l, t.machine.foreign(r, reads)), err
}

// read returns the label that the resources which a call read give its answer, and whether any of it is that of an
// earlier call to them or to their server: then the answer may be the text of an agent. A contract may say that the
// call returns nothing of theirs; labels of earlier writes count all the same.
func (t *resourceLabels) read(ctx context.Context, r *request) (l label.Label, written bool, err error) {
	if l, err = t.given(ctx, r); err != nil {
		return l, false, err
	}
	reads := t.machine.readsOf(r)
	more, err := t.written(ctx, r, reads)
	l = label.Join(l, more)
	if written = !l.IsZero(); err != nil {
		return l, written, err
	}
	if _, known := r.Effective.Sources.Known(); !known || returnsData(r) {
		l = label.Join(l, t.machine.foreign(r, reads))
	}
	return l, written, nil
}

// returnsData reports whether a call may return data of anybody, by its contract.
func returnsData(r *request) bool {
	for _, s := range r.Effective.Sources.Set().Slice() {
		if s != label.System {
			return true
		}
	}
	return false
}

// written returns the label that earlier writes gave to resources.
func (t *resourceLabels) written(ctx context.Context, r *request, uris []string) (l label.Label, err error) {
	if t.taints == nil {
		return l, nil
	}
	for _, uri := range uris {
		for _, name := range t.names(r, uri) {
			more, err := t.taints.Tainted(ctx, name)
			if err != nil {
				return l, fmt.Errorf("reading the label of a resource: %w", err)
			}
			l = label.Join(l, more)
		}
	}
	return l, nil
}

// names returns the names under which a resource has its label: its own, that in lower case, and of a file of this
// machine those of every file that the server may take it for; none if an argument is missing without which there is no
// resource.
func (t *resourceLabels) names(r *request, uri string) (names []string) {
	name := resourceName(uri)
	if name == "" {
		return nil
	}
	names = append(names, name)
	if folded := strings.ToLower(name); folded != name {
		names = append(names, folded) // for those who take names of any case, as GitHub and some file systems do
	}
	path, ok := strings.CutPrefix(name, "file://")
	if !ok || t.machine.files == nil {
		return names
	}
	for _, at := range t.machine.files.Locate(r.Server, "file://"+path).Names {
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

// resourceName returns the one name of all spellings of a URI: without fragment, its scheme and host in lower case, its
// path cleaned of "." and "..". Where an argument is missing, in braces, it is that of the whole that any value would
// be part of.
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
