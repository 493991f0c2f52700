package sqlstore

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"
)

// A released dictionary never changes: bodies packed with it would be lost.
func TestBodyDict(t *testing.T) {
	for _, c := range []struct {
		name, want string
		dict       []byte
	}{
		{"the first", "201c4009f48a4118e1b5168a76c32f58ebf9218c3aa49aaaab1461fff0f3cbc5", packedDict},
		{"the second", "129e8c762e5762e1081845f4df1a24c78899289f21ca33b6b40b243a66e2cc9e", tokenizedDict},
	} {
		if sum := sha256.Sum256(c.dict); hex.EncodeToString(sum[:]) != c.want {
			t.Errorf("%s dictionary is another: %x", c.name, sum)
		}
	}
}

// packedFirst returns a body in the first form, as earlier versions kept it.
func packedFirst(body []byte) []byte {
	var out bytes.Buffer
	w, _ := flate.NewWriterDict(&out, flate.DefaultCompression, packedDict)
	_, _ = w.Write(body)
	_ = w.Close()
	kept := binary.BigEndian.AppendUint32([]byte{packedBody}, crc32.ChecksumIEEE(out.Bytes()))
	return append(kept, out.Bytes()...)
}

// bodies draws texts like those of events, and any bytes between them.
func bodies() *rapid.Generator[[]byte] {
	part := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 40),
		rapid.Custom(func(t *rapid.T) []byte {
			at := rapid.IntRange(0, len(packedDict)-1).Draw(t, "at")
			return packedDict[at:min(len(packedDict), at+rapid.IntRange(0, 300).Draw(t, "length"))]
		}),
		rapid.Map(rapid.OneOf(
			rapid.StringMatching(`(sha256:)?[0-9a-f]{30,34}|(sha256:)?[0-9a-f]{62,66}|[0-9a-fA-F]{32}|[A-Z2-7]{24,27}|[A-Z2-7\r\n]{26}|[a-zA-Z0-9]{26}`),
			rapid.StringMatching(`[012][0-9]{3}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]([.,][0-9]{0,10})?(Z|\+00:00|\+01:00)?`),
			rapid.Just(chain), rapid.Just("")), func(s string) []byte { return []byte(`"` + s + `"`) }),
	)
	return rapid.Map(rapid.SliceOfN(part, 0, 12), func(parts [][]byte) []byte { return bytes.Join(parts, nil) })
}

const chain = "local/agent:1234"

// Each body unpacks to itself, however it was kept, and one that was kept unpacked by an earlier version is itself.
func TestPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := bodies().Draw(t, "body")
		chain := rapid.SampledFrom([]string{chain, ""}).Draw(t, "chain")
		kept := new(packer).pack(body, chain)
		if kept == nil || !bytes.Equal(unpack(kept, chain), body) || len(kept) > len(body)+1 {
			t.Fatalf("%x is kept as %x, which is %x", body, kept, unpack(kept, chain))
		}
		if first := packedFirst(body); !bytes.Equal(unpack(first, chain), body) {
			t.Fatalf("%x was kept as %x, which is %x", body, first, unpack(first, chain))
		}
		if len(body) > 0 && body[0] == '{' && !bytes.Equal(unpack(body, chain), body) {
			t.Fatalf("%q is not itself", body)
		}
		if len(kept) == 0 || kept[0] != tokenizedBody {
			return
		}
		bit := rapid.IntRange(0, 8*len(kept)-1).Draw(t, "bit")
		kept[bit/8] ^= 1 << (bit % 8)
		if bytes.Equal(unpack(kept, chain), body) {
			t.Fatalf("bit %d of %x may be another", bit, kept)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add(new(packer).pack(plainRead(), chain))
	f.Add(packedFirst(plainRead()))
	f.Add([]byte{packedBody, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, kept []byte) { unpack(kept, chain) })
}

const plainChain = "local/folder:/home/alice/project"

// A plain read is two decisions like this one; everything in it that differs from call to call is drawn anew.
func plainRead() []byte {
	b := make([]byte, 120)
	rand.Read(b)
	return fmt.Appendf(nil, `{"v":1,"id":"%s","time":"2026-11-22T15:47:40.%09dZ","kind":"decision","session":"%s","principal":"local","call":"%s",`+
		`"server":"files","method":"tools/call","name":"read_file","phase":"result","effect":"allow","arguments":"sha256:%x",`+
		`"label":{"private":true,"sources":["user"],"attribution":["mcp://files.demo.example/hello.txt","mcp://files/read_file"]},`+
		`"facts":{"server.trust":"trusted","session.calls":%d,"session.recent":64,"call.hasArguments":true,"call.roles":"drafted","call.from":["novel","private"],`+
		`"call.destination.values":1,"call.leak.bits":89,"call.leak.total":89,"response.annotations.private":true,"response.annotations.sources":["user"],`+
		`"tool.declared.readOnlyHint":true,"tool.declared.destructiveHint":false,"tool.declared.inputMetadata.destination":["ephemeral"],`+
		`"tool.declared.returnMetadata.source":["internal","user"]},"content":{"salt":"%x","answer":"sha256:%x"}}`,
		rand.Text(), int(b[0])<<20, plainChain, rand.Text(), b[:32], int(b[1])<<4, b[32:48], b[48:80])
}

func TestPackedSize(t *testing.T) {
	const most = 240 // bytes: 80 of them are digests and a salt, and 34 are ids
	var p packer
	for range 100 {
		if body := plainRead(); len(p.pack(body, plainChain)) > most {
			t.Fatalf("%d bytes are kept as %d", len(body), len(p.pack(body, plainChain)))
		}
	}
}

func BenchmarkPack(b *testing.B) {
	var p packer
	body, n := plainRead(), 0
	b.ReportAllocs()
	for b.Loop() {
		n = len(p.pack(body, plainChain))
	}
	b.ReportMetric(float64(n), "bytes")
}
