package guard

import (
	"context"

	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/vault"
)

// Values returns the hidden values that an agent session may use, for a person: none of it may go to an agent.
func (h *Hidden) Values(ctx context.Context, ref session.Ref) ([]vault.Value, error) {
	if h.vault == nil {
		return nil, nil
	}
	keys, err := h.spaces(ctx, ref, nil)
	if err != nil {
		return nil, err
	}
	return h.vault.List(ctx, keys...)
}
