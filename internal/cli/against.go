package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// Bounds of a checkpoint that is read from elsewhere.
const (
	maxCheckpoint  = 1 << 20
	fetchPatiently = 30 * time.Second
)

// extends checks that a log extends the checkpoints at places: files and URLs.
func (e *Env) extends(ctx context.Context, db *sqlstore.DB, places []string, key string) error {
	for _, place := range places {
		note, err := readCheckpoint(ctx, place)
		if err != nil {
			return remedy.Usage(fmt.Errorf("reading the checkpoint: %w", err), "")
		}
		if err := extendsAny(ctx, db.Log(), note, key); err != nil {
			return fmt.Errorf("against %s: %w", place, err)
		}
	}
	return nil
}

// extendsAny tells whether a log extends a checkpoint that is signed with the key, or with another of those that the log was
// handed over to or from.
func extendsAny(ctx context.Context, log audit.Store, checkpoint []byte, key string) error {
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

// readCheckpoint reads a file, or what is at a URL.
func readCheckpoint(ctx context.Context, place string) ([]byte, error) {
	if !strings.HasPrefix(place, "http://") && !strings.HasPrefix(place, "https://") {
		return readFile(place)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: fetchPatiently}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", place, resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxCheckpoint))
}
