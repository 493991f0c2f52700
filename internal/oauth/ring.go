package oauth

import (
	"context"
	"errors"

	"github.com/zalando/go-keyring"
)

// ringService is the name of Weir's entries in the keyring.
const ringService = "weir"

// SystemRing is the keyring of the operating system: the Keychain of macOS, the Credential Manager of Windows, the
// Secret Service elsewhere.
type SystemRing struct{}

// Get returns the text that is kept under a key.
func (SystemRing) Get(ctx context.Context, key string) (string, error) {
	return within(ctx, func() (string, error) { return keyring.Get(ringService, key) })
}

// Set keeps a value under a key.
func (SystemRing) Set(ctx context.Context, key, value string) error {
	_, err := within(ctx, func() (string, error) { return "", keyring.Set(ringService, key, value) })
	return err
}

// Delete forgets a key. It need not be there.
func (SystemRing) Delete(ctx context.Context, key string) error {
	_, err := within(ctx, func() (string, error) { return "", keyring.Delete(ringService, key) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// within does something that takes no context, such as waiting for the user to unlock the keyring. When ctx ends it
// goes on alone, until the keyring gives up.
func within(ctx context.Context, do func() (string, error)) (string, error) {
	type result struct {
		value string
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
