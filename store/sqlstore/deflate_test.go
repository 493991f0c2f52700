package sqlstore

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// Each stream is the text for any reader of DEFLATE, and the same whatever was written before it.
func TestDeflate(t *testing.T) {
	part := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 300),
		rapid.SliceOfN(rapid.SampledFrom([]byte("ab")), 0, 900),
		rapid.Map(rapid.IntRange(0, len(tokenizedDict)-1), func(at int) []byte { return tokenizedDict[at:min(len(tokenizedDict), at+400)] }),
	)
	texts := rapid.Map(rapid.SliceOfN(part, 0, 8), func(parts [][]byte) []byte { return bytes.Join(parts, nil) })
	kept := newDeflater(tokenizedDict)
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		stream := kept.append([]byte("head"), text)
		if again := newDeflater(tokenizedDict).append([]byte("head"), text); !bytes.Equal(stream, again) {
			t.Fatalf("%x after other texts, %x alone", stream, again)
		}
		rest := bytes.NewReader(stream[len("head"):])
		if got, ok := inflate(rest, tokenizedDict); !ok || !bytes.Equal(got, text) || rest.Len() > 0 {
			t.Fatalf("%q became %q, %d bytes after it", text, got, rest.Len())
		}
	})
	long := bytes.Repeat([]byte("abc{\"kind\":\"decision\"}"), 4<<10)
	if kept.fits(len(long)) {
		t.Fatal("a text fits that is longer than the window")
	}
	p := new(packer)
	if body := p.pack(long, chain); !bytes.Equal(unpack(body, chain), long) || len(body) > len(long)/10 {
		t.Fatalf("a long body is kept in %d of %d bytes", len(body), len(long))
	}
}
