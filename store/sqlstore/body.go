package sqlstore

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"time"

	"github.com/weir-mcp/weir/audit"
)

// Bodies of entries are kept packed, in two forms. Both begin with the number of the form, a byte, and the CRC-32
// (IEEE) of the rest in big-endian order.
//
//  1. Then follows the body as raw DEFLATE (RFC 1951) over a dictionary of texts that events consist of. Nothing
//     writes this form any more.
//  2. The body is first tokenized: in place of a text in quotation marks that a dictionary cannot shorten, or that
//     the entry has beside its body, stands a token, a control character. Then follow the DEFLATE stream of the
//     tokenized body over the second dictionary, and the bytes of the tokens, in their order.
//
// A body that begins with a control character up to 2 and is not packed has a byte 0 before it. Any other body is
// itself, as all are that are no shorter packed. The leaf of an entry has the digest of the body as it was, so a body
// that does not unpack is found by its leaf.
const (
	plainBody     = 0
	packedBody    = 1
	tokenizedBody = 2

	packedHead = 1 + crc32.Size
)

// chainToken stands for the name of the entry's chain, and the tokens after it for the texts of tokens.
const (
	chainToken = 2
	firstToken = chainToken + 1
)

// A token is a text of a fixed number of bytes.
type token struct {
	size   int // bytes
	least  int // characters of the text
	most   int
	chars  string // the characters that it may have
	decode func(raw, text []byte) ([]byte, error)
	encode func(text, raw []byte) []byte
}

// tokens never change once they are released.
var tokens = [...]token{
	{16, 32, 32, hexDigits, hex.AppendDecode, hex.AppendEncode},
	{32, 64, 64, hexDigits, hex.AppendDecode, hex.AppendEncode},
	{17, 26, 26, base32Digits, decodeText, encodeText},
	{8, len(time.RFC3339), len(time.RFC3339Nano), "0123456789-:.TZ", decodeTime, encodeTime},
}

const (
	hexDigits    = "0123456789abcdef"
	base32Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// tokensOf are the tokens that may have a character, a bit each.
var tokensOf = func() (of [256]uint8) {
	for i, k := range tokens {
		for _, c := range []byte(k.chars) {
			of[c] |= 1 << i
		}
	}
	return of
}()

// A dictionary never changes once it is released: another one is another form. Nothing of anybody's is in it.
var (
	//go:embed body.dict
	packedDict []byte
	//go:embed body2.dict
	tokenizedDict []byte
)

// minPacked is how long a body is that is worth packing.
const minPacked = 128

// A packer packs bodies. The zero packer is ready. It must not be used concurrently.
type packer struct {
	out       []byte
	tokenized []byte
	raw       []byte // the bytes of the tokens
	w         *deflater
}

// pack returns a body of an entry of the chain as it is kept.
func (p *packer) pack(body []byte, chain string) []byte {
	if len(body) >= minPacked && p.tokenize(body, chain) {
		if b := p.deflate(); len(b) < len(body) {
			return b
		}
	}
	switch {
	case body == nil:
		return []byte{}
	case len(body) > 0 && body[0] <= tokenizedBody:
		return append([]byte{plainBody}, body...)
	}
	return body
}

// tokenize tokenizes a body, unless it has characters that are tokens.
func (p *packer) tokenize(body []byte, chain string) bool {
	p.tokenized, p.raw = p.tokenized[:0], p.raw[:0]
	for _, c := range body {
		if chainToken <= c && c < firstToken+byte(len(tokens)) {
			return false
		}
	}
	for len(body) > 0 {
		at := bytes.IndexByte(body, '"') + 1
		if at == 0 {
			at = len(body)
		}
		p.tokenized, body = append(p.tokenized, body[:at]...), body[at:]
		body = body[p.text(body, chain):]
	}
	return true
}

const digestPrefix = "sha256:"

// text appends the token for the text with which the rest of a body begins, up to a quotation mark, if there is one
// for it, and returns its length.
func (p *packer) text(rest []byte, chain string) int {
	text := rest[:max(0, bytes.IndexByte(rest, '"'))]
	if chain != "" && string(text) == chain {
		p.tokenized = append(p.tokenized, chainToken)
		return len(text)
	}
	inner := bytes.TrimPrefix(text, []byte(digestPrefix))
	may := ^uint8(0)
	for i := 0; i < len(inner) && may != 0; i++ {
		may &= tokensOf[inner[i]]
	}
	for i, k := range tokens {
		if may>>i&1 == 0 || len(inner) < k.least || len(inner) > k.most {
			continue
		}
		start := len(p.raw)
		raw, err := k.decode(p.raw, inner)
		if err != nil || len(raw) != start+k.size || string(k.encode(nil, raw[start:])) != string(inner) {
			continue
		}
		p.tokenized, p.raw = append(append(p.tokenized, text[:len(text)-len(inner)]...), byte(firstToken+i)), raw
		return len(text)
	}
	return 0
}

func (p *packer) deflate() []byte {
	if p.w == nil {
		p.w = newDeflater(tokenizedDict)
	}
	if !p.w.fits(len(p.tokenized)) {
		return p.deflateLong()
	}
	return p.framed(p.w.append(append(p.out[:0], make([]byte, packedHead)...), p.tokenized))
}

// deflateLong deflates a text from parts of which the dictionary is too far.
func (p *packer) deflateLong() []byte {
	var out bytes.Buffer
	out.Write(make([]byte, packedHead))
	w, _ := flate.NewWriterDict(&out, flate.DefaultCompression, tokenizedDict) // the level is one that there is
	_, _ = w.Write(p.tokenized)                                                // to memory
	_ = w.Close()
	return p.framed(out.Bytes())
}

// framed returns a body with a stream after room for its head.
func (p *packer) framed(stream []byte) []byte {
	p.out = append(stream, p.raw...)
	b := bytes.Clone(p.out)
	b[0] = tokenizedBody
	binary.BigEndian.PutUint32(b[1:], crc32.ChecksumIEEE(b[packedHead:]))
	return b
}

// unpack returns a body of an entry of the chain as it was, and other bytes as they are.
func unpack(kept []byte, chain string) []byte {
	if len(kept) > 0 && kept[0] == plainBody {
		return kept[1:]
	}
	if len(kept) < packedHead || crc32.ChecksumIEEE(kept[packedHead:]) != binary.BigEndian.Uint32(kept[1:]) {
		return kept
	}
	var body []byte
	var ok bool
	rest := bytes.NewReader(kept[packedHead:])
	switch kept[0] {
	case packedBody:
		body, ok = inflate(rest, packedDict)
	case tokenizedBody:
		if body, ok = inflate(rest, tokenizedDict); ok {
			body, ok = expand(body, kept[len(kept)-rest.Len():], chain)
		}
	}
	if !ok {
		return kept
	}
	return body
}

// inflate reads one DEFLATE stream, and nothing after it.
func inflate(r *bytes.Reader, dict []byte) ([]byte, bool) {
	body, err := io.ReadAll(io.LimitReader(flate.NewReaderDict(r, dict), audit.MaxBody+1))
	return body, err == nil && len(body) <= audit.MaxBody
}

// expand puts the texts back that tokens stand for.
func expand(tokenized, raw []byte, chain string) ([]byte, bool) {
	body := make([]byte, 0, len(tokenized)+2*len(raw)+len(chain))
	for _, c := range tokenized {
		switch {
		case c == chainToken:
			body = append(body, chain...)
		case firstToken <= c && int(c) < firstToken+len(tokens):
			k := tokens[c-firstToken]
			if k.size > len(raw) {
				return nil, false
			}
			body, raw = k.encode(body, raw[:k.size]), raw[k.size:]
		default:
			body = append(body, c)
		}
		if len(body) > audit.MaxBody {
			return nil, false
		}
	}
	return body, true
}

// decodeText and encodeText are for the texts of [crypto/rand.Text]: 130 bits in base32. 6 bits that are zero follow.
func decodeText(raw, text []byte) ([]byte, error) {
	return textEncoding.AppendDecode(raw, append(bytes.Clone(text), "AA"...))
}

func encodeText(text, raw []byte) []byte {
	text = textEncoding.AppendEncode(text, raw)
	return text[:len(text)-len("AA")]
}

var textEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// decodeTime and encodeTime are for times as events have them, as nanoseconds since 1970.
func decodeTime(raw, text []byte) ([]byte, error) {
	if text[len("2006-01-02")] != 'T' {
		return nil, errors.ErrUnsupported
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	return binary.BigEndian.AppendUint64(raw, uint64(t.UnixNano())), err
}

func encodeTime(text, raw []byte) []byte {
	return time.Unix(0, int64(binary.BigEndian.Uint64(raw))).UTC().AppendFormat(text, time.RFC3339Nano)
}
