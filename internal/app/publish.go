package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/publish"
	"github.com/weir-mcp/weir/internal/remedy"
)

// ExtendsAny tells whether a log extends a checkpoint that is signed with the key, or with another of those that the log was
// handed over to or from.
func ExtendsAny(ctx context.Context, log audit.Store, checkpoint []byte, key string) error {
	keys, err := audit.Verifiers(ctx, log, key)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if err = audit.Extends(ctx, log, checkpoint, k); !errors.Is(err, audit.ErrKey) {
			return err
		}
	}
	return err
}

// publish starts publishing checkpoints where the configuration wants them.
func (s *state) publish(c config.Checkpoints, l *ledger.Ledger, log *slog.Logger) error {
	if len(c.Publish) == 0 {
		return nil
	}
	opts := publish.Options{Log: l, Every: c.Every, Logger: log}
	for _, p := range c.Publish {
		switch {
		case p.Witness != "":
			w, err := publish.NewWitness(p.Witness, p.Key, l)
			if err != nil {
				return remedy.Usage(fmt.Errorf("checkpoints.publish: %w", err), "write the key as the witness publishes it")
			}
			opts.Witnesses = append(opts.Witnesses, w)
		case p.URL != "":
			opts.Places = append(opts.Places, publish.URL(p.URL, p.Headers))
		default:
			opts.Places = append(opts.Places, publish.File(p.File, func(ctx context.Context, checkpoint []byte) error {
				return ExtendsAny(ctx, l.Log().Storage(), checkpoint, l.Log().Key().Verifier())
			}))
		}
	}
	s.closers = append(s.closers, publish.Start(opts))
	return nil
}
