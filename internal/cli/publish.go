package cli

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/ledger"
	"github.com/weir-mcp/weir/internal/publish"
	"github.com/weir-mcp/weir/internal/remedy"
)

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
				return extendsAny(ctx, l.Log().Storage(), checkpoint, l.Log().Key().Verifier())
			}))
		}
	}
	s.closers = append(s.closers, publish.Start(opts))
	return nil
}
