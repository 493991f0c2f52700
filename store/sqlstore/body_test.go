package sqlstore

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// A released dictionary never changes: bodies packed with it would be lost.
func TestBodyDict(t *testing.T) {
	sum := sha256.Sum256(bodyDict)
	if got, want := hex.EncodeToString(sum[:]), "201c4009f48a4118e1b5168a76c32f58ebf9218c3aa49aaaab1461fff0f3cbc5"; got != want {
		t.Errorf("the dictionary is another: %s", got)
	}
}

// Each body unpacks to itself, and one that was kept unpacked by an earlier version is itself.
func TestPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 40), rapid.Custom(func(t *rapid.T) []byte {
			at := rapid.IntRange(0, len(bodyDict)-1).Draw(t, "at")
			return bodyDict[at:min(len(bodyDict), at+rapid.IntRange(0, 300).Draw(t, "length"))]
		}))
		body := bytes.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), nil)
		kept := new(packer).pack(body)
		if kept == nil || !bytes.Equal(unpack(kept), body) || len(kept) > len(body)+1 {
			t.Fatalf("%x is kept as %x, which is %x", body, kept, unpack(kept))
		}
		if len(body) > 0 && body[0] == '{' && !bytes.Equal(unpack(body), body) {
			t.Fatalf("%q is not itself", body)
		}
		if len(kept) == 0 || kept[0] != packedBody {
			return
		}
		bit := rapid.IntRange(0, 8*len(kept)-1).Draw(t, "bit")
		kept[bit/8] ^= 1 << (bit % 8)
		if bytes.Equal(unpack(kept), body) {
			t.Fatalf("bit %d of %x may be another", bit, kept)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add(new(packer).pack(bodyDict))
	f.Add([]byte{packedBody, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, kept []byte) { unpack(kept) })
}

// A plain read is two decisions like this one; everything in it that differs from call to call is drawn anew.
func plainRead() []byte {
	b := make([]byte, 120)
	rand.Read(b)
	return fmt.Appendf(nil, `{"v":1,"id":"%s","time":"2026-11-22T15:47:40.%09dZ","kind":"decision","session":"local/agent:%s","principal":"local","call":"%s",`+
		`"server":"files","method":"tools/call","name":"read_file","phase":"result","effect":"allow","arguments":"sha256:%x",`+
		`"label":{"private":true,"sources":["user"],"attribution":["mcp://files.demo.example/hello.txt","mcp://files/read_file"]},`+
		`"facts":{"server.trust":"trusted","session.calls":%d,"session.recent":64,"call.hasArguments":true,"call.roles":"drafted","call.from":["novel","private"],`+
		`"call.destination.values":1,"call.leak.bits":89,"call.leak.total":89,"response.annotations.private":true,"response.annotations.sources":["user"],`+
		`"tool.declared.readOnlyHint":true,"tool.declared.destructiveHint":false,"tool.declared.inputMetadata.destination":["ephemeral"],`+
		`"tool.declared.returnMetadata.source":["internal","user"]},"content":{"salt":"%x","answer":"sha256:%x"}}`,
		rand.Text(), int(b[0])<<20, rand.Text(), rand.Text(), b[:32], int(b[1])<<4, b[32:48], b[48:80])
}

func TestPackedSize(t *testing.T) {
	const most = 340 // bytes: 80 of them are digests and a salt, and 50 are ids
	var p packer
	for range 100 {
		if body := plainRead(); len(p.pack(body)) > most {
			t.Fatalf("%d bytes are kept as %d", len(body), len(p.pack(body)))
		}
	}
}

func BenchmarkPack(b *testing.B) {
	var p packer
	body, n := plainRead(), 0
	b.ReportAllocs()
	for b.Loop() {
		n = len(p.pack(body))
	}
	b.ReportMetric(float64(n), "bytes")
}
