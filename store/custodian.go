package store

import (
	"context"
	"time"

	"github.com/weir-mcp/weir/label"
)

// A Custodian has the operations that a [Store] lacks: it lowers labels and removes sessions. Only an operator or the
// retention rule may call it; no MCP message reaches it.
type Custodian interface {
	// Lower removes the parts in drop from the label of the session and of all its descendants, which would raise it
	// again otherwise. Its ancestors keep theirs. It returns the sessions that changed, before and after, the session
	// first. The error is ErrNotFound if there is no such session.
	Lower(ctx context.Context, key string, drop label.Label) ([]Rise, error)

	// End removes the session and all its descendants, with their values, and returns their keys, the session first.
	// Whoever opens it again begins anew. The error is ErrNotFound if there is none.
	End(ctx context.Context, key string) ([]string, error)

	// Expire removes the sessions that were last seen before the time and have no descendant that was seen later, with
	// their values, the questions that expired before now, and the taints that did. It returns how many of each.
	Expire(ctx context.Context, seen time.Time) (Expired, error)
}

// Expired counts the rows that [Custodian.Expire] removed.
type Expired struct{ Sessions, Questions, Taints int64 }

// A Backend is all that Weir keeps.
type Backend interface {
	Store
	Approvals
	Pins
	Taints
	Values
	Custodian
}
