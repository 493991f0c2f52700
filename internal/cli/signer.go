package cli

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
)

// publicKeyOf returns the public key in a PEM file as the configuration takes it, under the name of a log.
func publicKeyOf(path, name string) (string, error) {
	b, err := home.ReadFile(path)
	if err != nil {
		return "", remedy.Usage(fmt.Errorf("reading the public key: %w", err), "")
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return "", remedy.Usage(errors.New("the public key is not in PEM"), "openssl pkey -pubout writes it")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return "", remedy.Usage(errors.New("it is not the public key of an Ed25519 key"), "openssl genpkey -algorithm ed25519 makes one")
	}
	return audit.PublicKey(name, key)
}
