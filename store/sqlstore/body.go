package sqlstore

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/weir-mcp/weir/audit"
)

// Bodies of entries are kept packed: a byte 1, the CRC-32 (IEEE) of the rest in big-endian order, and the body as raw
// DEFLATE (RFC 1951) over a dictionary of texts that events consist of. A body that begins with a control character up
// to 1 has a byte 0 before it. Any other body is itself, as all are that are no shorter packed, and those of earlier
// versions of the schema. The leaf of an entry has the digest of the body as it was, so a body that does not unpack is
// found by its leaf.
const (
	plainBody  = 0
	packedBody = 1

	packedHead = 1 + crc32.Size
)

// bodyDict never changes once it is released: another one is another first byte. Nothing of anybody's is in it.
//
//go:embed body.dict
var bodyDict []byte

// minPacked is how long a body is that is worth packing.
const minPacked = 128

// A packer packs bodies. The zero packer is ready. It must not be used concurrently.
type packer struct {
	out bytes.Buffer
	w   *flate.Writer
}

// pack returns a body as it is kept.
func (p *packer) pack(body []byte) []byte {
	if len(body) >= minPacked {
		if b := p.deflate(body); len(b) < len(body) {
			return b
		}
	}
	switch {
	case body == nil:
		return []byte{}
	case len(body) > 0 && body[0] <= packedBody:
		return append([]byte{plainBody}, body...)
	}
	return body
}

func (p *packer) deflate(body []byte) []byte {
	if p.w == nil {
		p.w, _ = flate.NewWriterDict(&p.out, flate.DefaultCompression, bodyDict) // the level is one that there is
	}
	p.out.Reset()
	p.out.Write(make([]byte, packedHead))
	p.w.Reset(&p.out)
	_, _ = p.w.Write(body) // to memory
	_ = p.w.Close()
	b := bytes.Clone(p.out.Bytes())
	b[0] = packedBody
	binary.BigEndian.PutUint32(b[1:], crc32.ChecksumIEEE(b[packedHead:]))
	return b
}

// unpack returns a body as it was, and other bytes as they are.
func unpack(kept []byte) []byte {
	switch {
	case len(kept) > 0 && kept[0] == plainBody:
		return kept[1:]
	case len(kept) < packedHead, kept[0] != packedBody, crc32.ChecksumIEEE(kept[packedHead:]) != binary.BigEndian.Uint32(kept[1:]):
		return kept
	}
	r := flate.NewReaderDict(bytes.NewReader(kept[packedHead:]), bodyDict)
	body, err := io.ReadAll(io.LimitReader(r, audit.MaxBody+1))
	if err != nil || len(body) > audit.MaxBody {
		return kept
	}
	return body
}
