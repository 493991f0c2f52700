package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store"
	"github.com/weir-mcp/weir/vault"
)

// hiddenResults shows a console the values that the agents of this process were not shown.
type hiddenResults struct {
	view *ConsoleView
	kept *guard.Hidden
}

// Values implements [console.Vault].
func (h *hiddenResults) Values(ctx context.Context, key string) (all []console.HiddenValue, err error) {
	s, err := h.of(ctx, key)
	if err != nil {
		return nil, err
	}
	kept, err := guard.ValuesOf(ctx, h.kept, RefOf(s))
	for i := range kept {
		all = append(all, shownValue(&kept[i]))
	}
	return all, err
}

// Value implements [console.Vault]. The log has an event of it before anybody sees it.
func (h *hiddenResults) Value(ctx context.Context, key, id string) (out console.HiddenValue, err error) {
	s, err := h.of(ctx, key)
	if err != nil {
		return out, err
	}
	kept, err := h.kept.Find(ctx, RefOf(s), id)
	if err != nil {
		return out, err
	}
	out = shownValue(&kept)
	e := UserEvent(h.view.env, record.Show, s, fmt.Sprintf("hidden value %s, %d bytes, in the console", out.Name, out.Size))
	e.Server, e.Method, e.Name = kept.Server, kept.Method, kept.Tool
	if err := h.view.ledger.Record(ctx, e); err != nil {
		return console.HiddenValue{}, fmt.Errorf("recording a look at a hidden value: %w", err)
	}
	out.Text = kept.Text()
	return out, nil
}

// of returns the session with a key, if it is one of the principal of the console.
func (h *hiddenResults) of(ctx context.Context, key string) (store.Session, error) {
	s, err := FindSession(ctx, h.view.db, key)
	if err == nil && h.view.principal != "" && s.Principal != h.view.principal {
		return store.Session{}, errors.New("the session is of another principal than this console is for")
	}
	return s, err
}

// shownValue returns a hidden value without its text.
func shownValue(v *vault.Value) console.HiddenValue {
	return console.HiddenValue{
		ID: v.ID, Name: v.Name, Server: v.Server, Tool: v.Tool, Label: v.Label, Failed: v.Failed(), Size: len(v.Text()),
	}
}
