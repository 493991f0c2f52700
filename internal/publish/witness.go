package publish

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// ErrConflict is the kind of error of a witness that has seen another log of the same name: this one was shortened or
// rewritten, or that one was.
var ErrConflict = errors.New("the witness has seen another log of this name")

// maxAnswer bounds the size of a witness's answer, in bytes.
const maxAnswer = 64 << 10

// A Witness signs checkpoints that extend the one that it signed last (c2sp.org/tlog-witness).
type Witness struct {
	prefix string
	key    cosigner
	log    Log
	client *http.Client
	size   int64 // of the checkpoint that it signed last, as far as is known; 0 asks it
}

// NewWitness returns the witness with a submission prefix and a public key, as c2sp.org/signed-note has that of an
// Ed25519 cosignature: NAME+HASH+KEY, with the algorithm 4.
func NewWitness(prefix, key string, log Log) (*Witness, error) {
	c, err := parseCosigner(key)
	if err != nil {
		return nil, err
	}
	return &Witness{prefix: strings.TrimRight(prefix, "/"), key: c, log: log, client: newClient()}, nil
}

// String names the witness.
func (w *Witness) String() string { return hostOf(w.prefix) }

// Cosign returns the witness's signature lines for the checkpoint. The error is ErrConflict if the witness knows a log
// that this one does not extend.
func (w *Witness) Cosign(ctx context.Context, checkpoint []byte) ([]byte, error) {
	size, err := sizeOf(checkpoint)
	if err != nil {
		return nil, err
	}
	for range 3 { // another replica may be there between two attempts
		if w.size > size {
			return nil, w.behind(ctx)
		}
		status, answer, err := w.submit(ctx, checkpoint, size)
		if err != nil {
			return nil, err
		}
		switch status {
		case http.StatusOK:
			lines, err := w.key.lines(checkpoint, answer)
			if err == nil {
				w.size = size
			}
			return lines, err
		case http.StatusConflict:
			if w.size, err = parseSize(answer); err != nil {
				return nil, err
			}
		case http.StatusUnprocessableEntity:
			return nil, fmt.Errorf("%w: the one that it has signed, of %d entries, is no beginning of this one", ErrConflict, w.size)
		default:
			return nil, fmt.Errorf("it answers %d %s", status, http.StatusText(status))
		}
	}
	return nil, errors.New("others have it sign at the same time")
}

// behind returns why a checkpoint is over fewer entries than the witness has signed: another replica was faster, or the
// log is shorter than it was.
func (w *Witness) behind(ctx context.Context) error {
	newest, err := w.log.Checkpoint(ctx)
	if err != nil {
		return err
	}
	size, err := sizeOf(newest)
	if err != nil {
		return err
	}
	if size >= w.size {
		return errors.New("others have it sign at the same time")
	}
	return fmt.Errorf("%w: it has signed one of %d entries, and there are %d", ErrConflict, w.size, size)
}

// submit sends an add-checkpoint request.
func (w *Witness) submit(ctx context.Context, checkpoint []byte, size int64) (status int, answer []byte, err error) {
	var body bytes.Buffer
	fmt.Fprintf(&body, "old %d\n", w.size)
	if w.size > 0 {
		proof, err := w.log.Consistency(ctx, w.size, size)
		if err != nil {
			return 0, nil, err
		}
		for _, hash := range proof {
			body.WriteString(hash.String() + "\n")
		}
	}
	body.WriteByte('\n')
	body.Write(checkpoint)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.prefix+"/add-checkpoint", &body)
	if err != nil {
		return 0, nil, errors.New("not a URL")
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return 0, nil, withoutURL(err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, err
}

// parseSize reads the size in an answer 409.
func parseSize(answer []byte) (int64, error) {
	text := strings.TrimSuffix(string(answer), "\n")
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != text {
		return 0, fmt.Errorf("it answers that it has signed %.20q entries", text)
	}
	return size, nil
}

// A cosigner verifies Ed25519 cosignatures (c2sp.org/tlog-cosignature). It is a [note.Verifier].
type cosigner struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

// cosignatureAlgorithm is the algorithm byte of an Ed25519 cosignature.
const cosignatureAlgorithm = 4

func parseCosigner(key string) (c cosigner, err error) {
	bad := errors.New("not the public key of a witness: NAME+HASH+KEY")
	parts := strings.SplitN(key, "+", 3)
	if len(parts) != 3 || parts[0] == "" || len(parts[1]) != 8 || strings.ContainsAny(parts[0], " \t\r\n") {
		return c, bad
	}
	hash, err := hex.DecodeString(parts[1])
	if err != nil {
		return c, bad
	}
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(raw) != 1+ed25519.PublicKeySize || raw[0] != cosignatureAlgorithm {
		return c, bad
	}
	sum := sha256.Sum256(append([]byte(parts[0]+"\n"), raw...))
	if !bytes.Equal(sum[:4], hash) {
		return c, bad
	}
	return cosigner{parts[0], binary.BigEndian.Uint32(hash), raw[1:]}, nil
}

// Name implements [note.Verifier].
func (c cosigner) Name() string { return c.name }

// KeyHash implements [note.Verifier].
func (c cosigner) KeyHash() uint32 { return c.hash }

// Verify implements [note.Verifier]. A signature is the time in seconds since 1970, 8 bytes, big endian, and an Ed25519
// signature.
func (c cosigner) Verify(text, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	signed := fmt.Appendf(nil, "cosignature/v1\ntime %d\n", binary.BigEndian.Uint64(sig))
	return ed25519.Verify(c.key, append(signed, text...), sig[8:])
}

// lines returns those of a witness's answer that are its signatures of the checkpoint; an error if there is none.
func (c cosigner) lines(checkpoint, answer []byte) ([]byte, error) {
	text, _, ok := bytes.Cut(checkpoint, []byte("\n\n"))
	if !ok {
		return nil, errors.New("a checkpoint without signatures")
	}
	signed := append(append(bytes.Clone(text), "\n\n"...), answer...)
	n, err := note.Open(signed, note.VerifierList(c))
	if err != nil {
		return nil, fmt.Errorf("its answer is not its signature: %w", err)
	}
	var lines []byte
	for line := range bytes.Lines(answer) {
		if bytes.HasPrefix(line, []byte("— "+c.name+" ")) && bytes.Contains(line, []byte(n.Sigs[0].Base64)) {
			lines = append(lines, line...)
		}
	}
	return lines, nil
}
