package annotation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// The canonicalizations of evidence.
const (
	JCS  = "jcs/rfc8785"
	CBOR = "cbor/rfc8949"
)

// Limits on the size of a reference to evidence.
const (
	maxType = 256  // bytes of its type
	maxRef  = 2048 // bytes of its schema and of its ref, each
)

// Evidence refers to a record, kept elsewhere, that says why data is labelled as it is (trust-annotations,
// evidenceRef). A reference proves nothing by itself: who holds the record can tell by [Evidence.Check] that it is the
// one.
type Evidence struct {
	Type             string // an open string, such as data-class.v1, ifc.fides.v1, policy-decision
	Digest           string // sha256: and 64 hexadecimal digits in lower case
	Canonicalization string // JCS or CBOR
	Schema           string // of the record; may be empty
	Ref              string // where the record is; may be empty
}

// ErrDigest says that a record is not the one that was referred to.
var ErrDigest = errors.New("the record has another digest")

const sha256Prefix = "sha256:"

// encode returns the reference as JSON. The error says that no reader would take it.
func (e Evidence) encode() ([]byte, error) {
	raw, err := json.Marshal(struct {
		Type             string `json:"type"`
		Digest           string `json:"digest"`
		Canonicalization string `json:"canonicalization"`
		Schema           string `json:"schema,omitempty"`
		Ref              string `json:"ref,omitempty"`
	}(e))
	if err != nil {
		return nil, err
	}
	var found defects
	if _, ok := readEvidence(document(raw, &found)); !ok {
		return nil, fmt.Errorf("evidence: %+v", found.list)
	}
	return raw, nil
}

// readEvidence returns a reference, and false if it is not whole and valid.
func readEvidence(in *object) (e Evidence, ok bool) {
	ok = true
	in.require("type", "digest", "canonicalization")
	text := func(name string, limit int, valid func(string) string) string {
		value, there := in.get(name)
		if !there {
			return ""
		}
		s, isString := rawjson.String(value)
		switch problem := ""; {
		case !isString:
			in.found.add(at(in.where, name), isNot(value, "a string"))
		case len(s) > limit:
			in.found.add(at(in.where, name), fmt.Sprintf("is longer than %d bytes", limit))
		case valid != nil:
			if problem = valid(s); problem == "" {
				return s
			}
			in.found.add(at(in.where, name), problem)
		default:
			return s
		}
		ok = false
		return ""
	}
	e.Type = text("type", maxType, func(s string) string {
		if s == "" {
			return "is empty"
		}
		return ""
	})
	e.Digest = text("digest", maxType, checkDigest)
	e.Canonicalization = text("canonicalization", maxType, func(s string) string {
		if all := []string{CBOR, JCS}; !slices.Contains(all, s) {
			return isNotOneOf(s, all)
		}
		return ""
	})
	e.Schema = text("schema", maxRef, nil)
	e.Ref = text("ref", maxRef, nil)
	return e, ok && e.Type != "" && e.Digest != "" && e.Canonicalization != ""
}

// checkDigest returns the reason why a digest is wrong.
func checkDigest(s string) string {
	digits, ok := strings.CutPrefix(s, sha256Prefix)
	if !ok {
		return "does not start with sha256:"
	}
	if raw, err := hex.DecodeString(digits); err != nil || len(raw) != sha256.Size || strings.ToLower(digits) != digits {
		return "is not sha256: and 64 hexadecimal digits in lower case"
	}
	return ""
}

// Check reports whether the record, one JSON value, is the one that the reference means. The error is [ErrDigest] if it
// is another, and a reason for a record that has no canonical form, or for a wrong reference.
func (e Evidence) Check(record []byte) error {
	digest, err := Digest(e.Canonicalization, record)
	if err != nil {
		return err
	}
	if digest != e.Digest {
		return fmt.Errorf("%w: %s, not %.80q", ErrDigest, digest, e.Digest)
	}
	return nil
}

// Digest returns the digest of a record, one JSON value, under a canonicalization: sha256: and 64 hexadecimal digits.
func Digest(canonicalization string, record []byte) (string, error) {
	if err := rawjson.Check(record); err != nil {
		return "", fmt.Errorf("reading the record: %w", err)
	}
	var text []byte
	switch canonicalization {
	case JCS:
		if text = rawjson.JCS(record); text == nil {
			return "", errors.New("the record has a number that RFC 8785 cannot express")
		}
	case CBOR:
		var err error
		if text, err = deterministicCBOR(record); err != nil {
			return "", err
		}
	default:
		return "", fmt.Errorf("unknown canonicalization %.40q: use %s or %s", canonicalization, JCS, CBOR)
	}
	sum := sha256.Sum256(text)
	return sha256Prefix + hex.EncodeToString(sum[:]), nil
}
