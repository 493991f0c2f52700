package detect

import "bytes"

// keyRules are of keys and tokens of open standards.
func keyRules() []Rule {
	return []Rule{
		{Kind: "private-key", Name: "private key in PEM", Source: "https://www.rfc-editor.org/rfc/rfc7468",
			anchors: []string{"private key-----", "pgp private key block-----"}, find: findPEM},
		prefixed("putty-private-key", "private key of PuTTY", `PuTTY-User-Key-File-[23]: [a-z0-9@.-]{5,40}`,
			"https://the.earth.li/~sgtatham/putty/latest/htmldoc/AppendixC.html").checkedBy(func([]byte) bool { return true }),
		checked("age-secret-key", "secret key of age", `AGE-SECRET-KEY-1[AC-HJ-NP-Z02-9]{58}`, bech32, "https://age-encryption.org/v1"),
		checked("nostr-secret-key", "secret key of Nostr", `nsec1[ac-hj-np-z02-9]{58}`, bech32, "https://github.com/nostr-protocol/nips/blob/master/19.md"),
		checked("bip32-private-key", "extended private key of a wallet", `[xyzt]prv[1-9A-HJ-NP-Za-km-z]{107,108}`, base58Check,
			"https://github.com/bitcoin/bips/blob/master/bip-0032.mediawiki"),
		checked("json-web-token", "JSON Web Token", `eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}`, jwt,
			"https://www.rfc-editor.org/rfc/rfc7519"),
		checked("basic-credentials", "credentials of HTTP Basic", `(?i)basic ([A-Za-z0-9+/]{12,200}={0,2})`, basicPair,
			"https://www.rfc-editor.org/rfc/rfc7617").saying(Medium),
		prefixed("bearer-token", "bearer token", `(?i)bearer ([A-Za-z0-9._~+/-]{24,}=*)`, "https://www.rfc-editor.org/rfc/rfc6750").
			checkedBy(bearerValue).saying(Medium),
	}
}

// bearerValue checks a token of any form.
func bearerValue(token []byte) bool { return random(token) && mixed(token) && Entropy(token) >= 3.5 }

// mostPEM is how long the span of a key in PEM is at most.
const mostPEM = 16 << 10

// findPEM finds a private key by the end of its first line.
func findPEM(_ *scan, v *view, start, end int) (m match, ok bool) {
	const begin = "-----BEGIN "
	head := v.text[max(0, start-40):start]
	at := bytes.LastIndex(head, []byte(begin))
	if at < 0 || len(bytes.Trim(head[at+len(begin):], " ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")) > 0 {
		return m, false
	}
	from, size := bodyOfPEM(v.text[end:min(len(v.text), end+mostPEM)])
	if !keyBody(v.text[end+from:end+size], from > 0) {
		return m, false
	}
	m = match{start: start - len(head) + at, end: end + size, confidence: High}
	m.secret, m.last = m.start, m.end
	return m, true
}

// bodyOfPEM returns where the base64 behind the first line of PEM begins and ends: behind headers perhaps, as of
// encrypted keys, and before the first byte that is neither of base64 nor white space. So it ends with a string of
// JSON.
func bodyOfPEM(text []byte) (from, end int) {
	for {
		n := whiteSpace(text[end:])
		size := headerOfPEM(text[end+n:])
		if size == 0 {
			break
		}
		end += n + size
		from = end
	}
	for end < len(text) {
		if n := whiteSpace(text[end:]); n > 0 {
			end += n
		} else if standard64(text[end]) || text[end] == '=' {
			end++
		} else {
			break
		}
	}
	return from, end
}

// whiteSpace returns the size of the white space that a text begins with, which source code writes as escapes.
func whiteSpace(text []byte) (n int) {
	for n < len(text) {
		switch {
		case text[n] > 0 && text[n] <= ' ':
			n++
		case n+1 < len(text) && text[n] == '\\' && bytes.IndexByte([]byte("nrt"), text[n+1]) >= 0:
			n += 2
		default:
			return n
		}
	}
	return n
}

// headerOfPEM returns the size of the header that a text begins with, up to the end of its line; 0 if it begins with
// none. No string of JSON ends in it.
func headerOfPEM(text []byte) int {
	n := 0
	for n < len(text) && n < 40 && (wordByte[text[n]] || text[n] == '-') {
		n++
	}
	if n == 0 || !bytes.HasPrefix(text[n:], []byte(": ")) {
		return 0
	}
	for ; n < len(text) && n < 256 && text[n] != '"'; n++ {
		if text[n] == '\n' || bytes.HasPrefix(text[n:], []byte(`\n`)) {
			return n
		}
	}
	return 0
}

// keyBody reports whether the base64 in PEM is a key. Without headers, of keys other than PGP's, it begins with a
// sequence of DER, or as OpenSSH writes its own.
func keyBody(body []byte, headers bool) bool {
	var first [64]byte
	n := 0
	for i := 0; i < min(len(body), 512) && n < len(first); i++ {
		if i += whiteSpace(body[i:]); i < len(body) && standard64(body[i]) {
			first[n] = body[i]
			n++
		}
	}
	return n >= 48 && (headers || random(first[:n]) || bytes.HasPrefix(first[:], []byte("b3BlbnNzaC1rZXktdjE")))
}

// standard64 reports whether a byte is a digit of base64 in files.
func standard64(c byte) bool { return base64Value[c] <= 63 && c != '-' && c != '_' }
