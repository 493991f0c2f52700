package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/weir-mcp/weir/label"
)

// ErrTooManyTaints is the kind of error of a taint for which there is no room. The write that it is about must not
// happen.
var ErrTooManyTaints = errors.New("too many resources are tainted")

// Bounds of taints.
const (
	MaxTaints        = 1_000_000
	maxResourceDepth = 64
)

// A Taint is the label of the data written to a resource.
type Taint struct {
	Resource string // a URI, or anything whose parts slashes separate
	Label    label.Label
	Written  time.Time // the last time
	Expires  time.Time // zero: never
}

// Taints keep the labels of resources that agents wrote to. A label only rises until [Taints.Clear], and expires at the
// latest of the times that were given.
type Taints interface {
	// Taint joins the label into that of the resource and returns the resulting taint. The error is ErrInvalid, or
	// ErrTooManyTaints.
	Taint(ctx context.Context, t Taint, lim Limits) (Taint, error)

	// Tainted returns the join of the labels of the resource, of every resource that contains it and of every resource
	// in it: a reader of a/b may get data written to a, to a/b and to a/b/c.
	Tainted(ctx context.Context, resource string, lim Limits) (label.Label, error)

	// Tainting iterates over the taints of the resource and of everything that is part of it, or over all if it is "",
	// by resource. An error ends the iteration. The loop's body may use the store.
	Tainting(ctx context.Context, resource string) iter.Seq2[Taint, error]

	// Clear removes the taints that Tainting yields, at a person's word, and returns how many there were.
	Clear(ctx context.Context, resource string) (int64, error)
}

// Check returns an error that is [ErrInvalid] if the taint is not one that a store accepts.
func (t *Taint) Check() error {
	if err := (text{"resource", t.Resource, true}).check(); err != nil {
		return fmt.Errorf("taint: %w", err)
	}
	if ResourceName(t.Resource) == "" {
		return fmt.Errorf("taint: %w: %q names everything", ErrInvalid, t.Resource)
	}
	return nil
}

// ResourceName returns the name by which a resource is kept: without slashes at its end.
func ResourceName(resource string) string { return strings.TrimRight(resource, "/") }

// ResourceAbove returns the names of the resources that contain a resource, itself first, by the slashes in its name.
// Of a name with more than 64 parts, it leaves out the innermost, but for itself.
func ResourceAbove(resource string) []string {
	name := ResourceName(resource)
	above := []string{name}
	for {
		i := strings.LastIndexByte(name, '/')
		if i <= 0 {
			break
		}
		if name = strings.TrimRight(name[:i], "/"); name != "" {
			above = append(above, name)
		}
	}
	if n := len(above); n > maxResourceDepth {
		above = append(above[:1], above[n-maxResourceDepth+1:]...)
	}
	return above
}

// ResourceBelow returns the range of names, from first up to but without end, of the resources that a resource
// contains, itself left out.
func ResourceBelow(resource string) (first, end string) {
	name := ResourceName(resource)
	return name + "/", name + "0" // '0' follows '/'
}

// Merge returns the taint of a resource after another is joined into t, or into the zero Taint. An expired t counts as
// zero. Back ends use it.
func (t Taint) Merge(more Taint, now time.Time, lim Limits) Taint {
	if t.Resource == "" || !t.Live(now) {
		t = Taint{Expires: now} // earlier than the joined taint
	}
	expires := micro(more.Expires)
	switch {
	case expires.IsZero() || t.Expires.IsZero():
		t.Expires = time.Time{}
	case expires.After(t.Expires):
		t.Expires = expires
	}
	t.Resource, t.Written = ResourceName(more.Resource), now
	t.Label = lim.Join(t.Label, more.Label)
	return t
}

// Live reports whether the taint has not expired.
func (t Taint) Live(now time.Time) bool { return t.Expires.IsZero() || now.Before(t.Expires) }

// micro returns the time as it is kept.
func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
