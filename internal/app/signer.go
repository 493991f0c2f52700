package app

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/remedy"
)

// signerTime is how long a program may take to sign.
const signerTime = 5 * time.Second

// signerOf returns the key of the program that signs; nil if none does.
func signerOf(s config.Signer) (*audit.Key, error) {
	if len(s.Command) == 0 {
		return nil, nil
	}
	k, err := audit.ExternalKey(s.Key, func(text []byte) ([]byte, error) { return runSigner(s.Command, text) })
	if err != nil {
		return nil, remedy.Usage(fmt.Errorf("audit.signer: %w", err), "write what weir audit key --pem FILE --name NAME prints")
	}
	return k, nil
}

// runSigner has a program sign a text: it gets the text on standard input, and prints the signature in base64.
func runSigner(command []string, text []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), signerTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.WaitDelay = bytes.NewReader(text), time.Second
	cmd.Stdout, cmd.Stderr = &limited{w: &out, left: 4096}, &limited{w: &said, left: 4096}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s did not sign within %v", command[0], signerTime)
		}
		first, _, _ := bytes.Cut(bytes.TrimSpace(said.Bytes()), []byte("\n"))
		return nil, fmt.Errorf("%s refuses: %w: %.200q", command[0], err, first)
	}
	sig, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(out.Bytes())))
	if err != nil || len(sig) != ed25519.SignatureSize {
		return nil, fmt.Errorf("%s did not print %d bytes in base64", command[0], ed25519.SignatureSize)
	}
	return sig, nil
}

// limited passes on so many bytes, and drops the rest.
type limited struct {
	w    io.Writer
	left int
}

// Write implements [io.Writer].
func (l *limited) Write(b []byte) (int, error) {
	keep := b[:min(len(b), l.left)]
	l.left -= len(keep)
	if _, err := l.w.Write(keep); err != nil {
		return 0, err
	}
	return len(b), nil
}
