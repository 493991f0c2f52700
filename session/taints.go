package session

import (
	"context"
	"time"

	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

// KeepTaints is how long a resource keeps its label after the last write where TaintOptions.Keep is not set.
const KeepTaints = 90 * 24 * time.Hour

// KeepForever as TaintOptions.Keep has a resource keep its label until a person clears it.
const KeepForever time.Duration = -1

// TaintOptions are the options of [NewTaints].
type TaintOptions struct {
	Store store.Taints     // default: a new store in memory
	Keep  time.Duration    // how long a resource keeps its label after the last write; 0 is KeepTaints
	Now   func() time.Time // nil: time.Now
}

// Taints are the labels of resources that agents wrote to, across sessions. They may be used concurrently.
type Taints struct{ opts TaintOptions }

// NewTaints returns the taints of the options' store.
func NewTaints(opts TaintOptions) *Taints {
	if opts.Store == nil {
		opts.Store = store.NewMemory(nil)
	}
	if opts.Keep == 0 {
		opts.Keep = KeepTaints
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Taints{opts}
}

// Taint joins the label into that of the resource.
func (t *Taints) Taint(ctx context.Context, resource string, l label.Label) error {
	kept := store.Taint{Resource: resource, Label: l.Normal()}
	if t.opts.Keep > 0 {
		kept.Expires = t.opts.Now().Add(t.opts.Keep)
	}
	_, err := t.opts.Store.Taint(ctx, kept, store.Limits{})
	return err
}

// Tainted returns the join of the labels of the resource, of the resources that contain it and of those that it
// contains.
func (t *Taints) Tainted(ctx context.Context, resource string) (label.Label, error) {
	return t.opts.Store.Tainted(ctx, resource, store.Limits{})
}
