package detect

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"math/bits"
	"net/url"
	"strings"
)

// random reports whether a value looks as if a machine chose it, rather than a person who wrote an example.
func random(value []byte) bool {
	var seen set
	distinct, same, rising := 0, 1, 1
	for i, c := range value {
		if !seen[c] {
			seen[c] = true
			distinct++
		}
		if i == 0 {
			continue
		}
		if same++; c != value[i-1] {
			same = 1
		}
		if rising++; c != value[i-1]+1 {
			rising = 1
		}
		if same >= 7 || rising >= 8 {
			return false
		}
	}
	return distinct >= min(8, len(value)/2) && !placeholder(value)
}

// placeholder reports whether a value says of itself that it is none.
func placeholder(value []byte) bool {
	folded := bytes.ToLower(value)
	for _, word := range []string{
		"example", "placeholder", "changeme", "change_me", "redacted", "insert", "your_", "your-", "xxxxx", "dummy", "foobar", "secret_here", "123456789",
	} {
		if bytes.Contains(folded, []byte(word)) {
			return true
		}
	}
	return false
}

// Entropy returns the bits that each byte of a value tells, by how often it is in the value (Shannon).
func Entropy(value []byte) (bits float64) {
	var counts [256]int
	for _, c := range value {
		counts[c]++
	}
	all := log2(len(value))
	for _, c := range value {
		if n := counts[c]; n > 0 {
			bits += float64(n) / float64(len(value)) * (all - log2(n))
			counts[c] = 0
		}
	}
	return bits
}

// log2 returns the binary logarithm of a number, from a table for small ones.
func log2(n int) float64 {
	if n < len(logarithms) {
		return logarithms[n]
	}
	return math.Log2(float64(n))
}

var logarithms = func() (t [256]float64) {
	for n := range t {
		t[n] = math.Log2(float64(n))
	}
	return t
}()

// crcOf returns the check of tokens that end in the CRC-32 of their middle, behind a prefix of that size, as six digits
// of base 62 (https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/).
func crcOf(prefix int) func([]byte) bool {
	return func(token []byte) bool {
		body, sum := token[prefix:len(token)-6], token[len(token)-6:]
		const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		n := crc32.ChecksumIEEE(body)
		for i := 5; i >= 0; i-- {
			if sum[i] != digits[n%62] {
				return false
			}
			n /= 62
		}
		return n == 0
	}
}

// decoded64 decodes base64 of either alphabet, with or without padding; nil if it is none.
func decoded64(text []byte) []byte {
	text = bytes.TrimRight(text, "=")
	encoding := base64.RawStdEncoding
	if bytes.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	out := make([]byte, encoding.DecodedLen(len(text)))
	n, err := encoding.Decode(out, text)
	if err != nil {
		return nil
	}
	return out[:n]
}

// decodesTo returns the check of keys that are base64 of that many bytes.
func decodesTo(size int) func([]byte) bool {
	return func(text []byte) bool { return random(text) && len(decoded64(text)) == size }
}

// sasSignature checks the percent-encoded base64 of a SHA-256.
func sasSignature(text []byte) bool {
	plain, err := url.PathUnescape(string(text))
	return err == nil && random(text) && len(decoded64([]byte(plain))) == sha256.Size
}

// bedrockKey checks a key that names itself.
func bedrockKey(key []byte) bool {
	return bytes.HasPrefix(decoded64(key[len("ABSK"):]), []byte("BedrockAPIKey-"))
}

// macaroon checks a token that is a macaroon of version 2 from an index of Python packages.
func macaroon(token []byte) bool {
	plain := decoded64(token[len("pypi-"):][:44]) // of the 50 that are there
	return bytes.HasPrefix(plain, []byte{2, 1}) && bytes.Contains(plain, []byte("pypi"))
}

// jsonHead checks base64 that begins an object of JSON.
func jsonHead(text []byte) bool {
	head := decoded64(text[:min(len(text), 40)&^3])
	if !bytes.HasPrefix(head, []byte(`{"`)) {
		return false
	}
	for _, c := range head {
		if !readable[c] {
			return false
		}
	}
	return random(text)
}

func opsToken(token []byte) bool { return jsonHead(token[len("ops_"):]) }

// jwt checks a JSON Web Token: a header with an algorithm, and a payload that is an object (RFC 7519).
func jwt(token []byte) bool {
	parts := bytes.Split(token, []byte{'.'})
	if len(parts) != 3 {
		return false
	}
	var header struct {
		Alg string `json:"alg"`
	}
	var payload map[string]json.RawMessage
	return json.Unmarshal(decoded64(parts[0]), &header) == nil && header.Alg != "" && !strings.EqualFold(header.Alg, "none") &&
		json.Unmarshal(decoded64(parts[1]), &payload) == nil && random(parts[2])
}

// discordToken checks a token whose first part is the number of its bot.
func discordToken(token []byte) bool {
	id, _, _ := bytes.Cut(token, []byte{'.'})
	plain := decoded64(id)
	return len(plain) >= 17 && len(bytes.Trim(plain, "0123456789")) == 0
}

// bearerTail checks the rest of a bearer token behind its leading zeros: base64 in percent escapes.
func bearerTail(token []byte) bool {
	return bytes.IndexByte(token, '%') > 0 && random(bytes.TrimLeft(token, "A"))
}

// basicPair checks the base64 of a name and a password.
func basicPair(text []byte) bool {
	plain := decoded64(text)
	for _, c := range plain {
		if !readable[c] {
			return false
		}
	}
	user, password, ok := bytes.Cut(plain, []byte{':'})
	return ok && len(user) > 0 && serious(password)
}

// bech32 returns the check of text in Bech32 (BIP 173), which ends in a checksum of its prefix and its data.
func bech32(text []byte) bool {
	folded := bytes.ToLower(text)
	at := bytes.LastIndexByte(folded, '1')
	if at < 1 || len(folded)-at < 7 {
		return false
	}
	sum := uint32(1)
	add := func(v byte) {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ uint32(v)
		for i, g := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	for _, c := range folded[:at] {
		add(c >> 5)
	}
	add(0)
	for _, c := range folded[:at] {
		add(c & 31)
	}
	for _, c := range folded[at+1:] {
		v := strings.IndexByte("qpzry9x8gf2tvdw0s3jn54khce6mua7l", c)
		if v < 0 {
			return false
		}
		add(byte(v))
	}
	return sum == 1
}

// base58Check checks text of Bitcoin's base 58, which ends in four bytes of a double SHA-256.
func base58Check(text []byte) bool {
	var words [16]uint64 // of the number, the lowest first
	for len(text) > 0 {
		part, radix := uint64(0), uint64(1)
		chunk := text[:min(len(text), 10)] // whose number a word holds
		text = text[len(chunk):]
		for _, c := range chunk {
			v := base58Value[c]
			if v < 0 {
				return false
			}
			part, radix = part*58+uint64(v), radix*58
		}
		for i := range words { // words = words*radix + part
			high, low := bits.Mul64(words[i], radix)
			sum, carry := bits.Add64(low, part, 0)
			words[i], part = sum, high+carry
		}
		if part > 0 {
			return false // it is longer than any such key
		}
	}
	var number [8 * len(words)]byte
	for i, word := range words {
		binary.BigEndian.PutUint64(number[len(number)-8*(i+1):], word)
	}
	plain := bytes.TrimLeft(number[:], "\x00")
	if len(plain) < 5 {
		return false
	}
	once := sha256.Sum256(plain[:len(plain)-4])
	twice := sha256.Sum256(once[:])
	return bytes.Equal(twice[:4], plain[len(plain)-4:])
}

// base58Value is the value of each digit of base 58, and -1 for any other byte.
var base58Value = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i, c := range []byte("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz") {
		t[c] = int8(i)
	}
	return t
}()
