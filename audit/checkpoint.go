package audit

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// The extension lines of a checkpoint that hands a log over to another key. It bears the signatures of both.
const (
	extFrom = "weir-key-from "
	extTo   = "weir-key-to "
)

// A statement is the content of a checkpoint.
type statement struct {
	origin   string
	size     int64
	root     tlog.Hash
	from, to string // verifier keys; "" but in a checkpoint that hands over
}

func (s *statement) text() string {
	text := fmt.Sprintf("%s\n%d\n%s\n", s.origin, s.size, s.root)
	if s.to != "" {
		text += extFrom + s.from + "\n" + extTo + s.to + "\n"
	}
	return text
}

// parseStatement reads the text of a checkpoint. Extension lines that it does not know are kept by none: [Verify]
// compares the texts.
func parseStatement(text string) (*statement, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 || lines[len(lines)-1] != "" || lines[0] == "" {
		return nil, fmt.Errorf("%w: a checkpoint of %d lines", ErrDamaged, len(lines)-1)
	}
	s := &statement{origin: lines[0]}
	var err error
	if s.size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || s.size < 0 || strconv.FormatInt(s.size, 10) != lines[1] {
		return nil, fmt.Errorf("%w: a checkpoint over %.20q entries", ErrDamaged, lines[1])
	}
	if s.root, err = tlog.ParseHash(lines[2]); err != nil || s.root.String() != lines[2] {
		return nil, fmt.Errorf("%w: a checkpoint without a hash", ErrDamaged)
	}
	for _, line := range lines[3 : len(lines)-1] {
		if line == "" {
			return nil, fmt.Errorf("%w: a checkpoint with an empty line", ErrDamaged)
		}
		if v, ok := strings.CutPrefix(line, extFrom); ok {
			s.from = v
		}
		if v, ok := strings.CutPrefix(line, extTo); ok {
			s.to = v
		}
	}
	if (s.from == "") != (s.to == "") {
		return nil, fmt.Errorf("%w: a checkpoint that hands over from %q to %q", ErrDamaged, s.from, s.to)
	}
	return s, nil
}

// signed returns the statement as a note with the keys' signatures.
func (s *statement) signed(keys ...*Key) ([]byte, error) {
	signers := make([]note.Signer, len(keys))
	for i, k := range keys {
		if signers[i] = k.signer; !k.Signs() {
			return nil, fmt.Errorf("%w: the program that signs with %s is not given", ErrSigner, k.verifier)
		}
	}
	b, err := note.Sign(&note.Note{Text: s.text()}, signers...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSigner, err)
	}
	return b, nil
}

// openNote returns the statement of a note if exactly the given keys have signed it, and it is written as they would
// write it.
func openNote(b []byte, verifiers ...string) (*statement, error) {
	known := make([]note.Verifier, len(verifiers))
	for i, vkey := range verifiers {
		v, err := note.NewVerifier(vkey)
		if err != nil {
			return nil, fmt.Errorf("%w: a checkpoint with the key %.60q", ErrDamaged, vkey)
		}
		known[i] = v
	}
	n, err := note.Open(b, note.VerifierList(known...))
	if err != nil {
		return nil, fmt.Errorf("%w: a checkpoint: %w", ErrKey, err)
	}
	if len(n.Sigs) != len(known) || len(n.UnverifiedSigs) != 0 || !bytes.Equal(b, canonical(n)) {
		return nil, fmt.Errorf("%w: a checkpoint with signatures of others", ErrKey)
	}
	s, err := parseStatement(n.Text)
	if err != nil {
		return nil, err
	}
	if s.origin != known[0].Name() {
		return nil, fmt.Errorf("%w: a checkpoint of the log %.60q", ErrKey, s.origin)
	}
	return s, nil
}

// canonical returns a note's only spelling.
func canonical(n *note.Note) []byte {
	b := []byte(n.Text + "\n")
	for _, s := range n.Sigs {
		raw, _ := base64.StdEncoding.DecodeString(s.Base64) // Open has decoded it
		raw = append(binary.BigEndian.AppendUint32(nil, s.Hash), raw[min(4, len(raw)):]...)
		b = append(b, "— "+s.Name+" "+base64.StdEncoding.EncodeToString(raw)+"\n"...)
	}
	return b
}

// peek returns the statement of a note, and does not check its signatures.
func peek(b []byte) (*statement, error) {
	text, _, ok := bytes.Cut(b, []byte("\n\n"))
	if !ok {
		return nil, fmt.Errorf("%w: a checkpoint without signatures", ErrDamaged)
	}
	return parseStatement(string(text) + "\n")
}
