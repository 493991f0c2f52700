package guard

import (
	"context"

	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// ValuesOf returns the hidden values that an agent session may use, for a person: none of it may go to an agent.
func ValuesOf(ctx context.Context, h *Hidden, ref session.Ref) ([]vault.Value, error) {
	if h.vault == nil {
		return nil, nil
	}
	keys, err := h.spaces(ctx, ref, nil)
	if err != nil {
		return nil, err
	}
	return h.vault.List(ctx, keys...)
}
