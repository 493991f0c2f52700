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
func findPEM(w *scan, v *view, start, end int) (m match, ok bool) {
	const begin = "-----BEGIN "
	head := v.text[max(0, start-40):start]
	at := bytes.LastIndex(head, []byte(begin))
	if at < 0 || len(bytes.Trim(head[at+len(begin):], " ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")) > 0 {
		return m, false
	}
	m = match{start: start - len(head) + at, confidence: High}
	last := endOfPEM(w, v, end)
	body := v.text[end:min(last, end+mostPEM)]
	if !keyBody(body) {
		return m, false
	}
	m.end = end + len(body)
	m.secret, m.last = m.start, m.end
	return m, true
}

// endOfPEM returns where the block ends that has begun before a place. Each end is looked for once.
func endOfPEM(w *scan, v *view, from int) int {
	l := &w.levels[v.depth]
	if l.pem < from {
		if l.pem = len(v.text); from < len(v.text) {
			if n := bytes.Index(v.text[from:], []byte("-----END")); n >= 0 {
				l.pem = from + n
			}
		}
	}
	return l.pem
}

// keyBody reports whether the text behind the first line of PEM is a key: base64 in lines, behind headers perhaps. Of
// keys in PEM other than PGP's, it begins with a sequence of DER, or as OpenSSH writes its own.
func keyBody(body []byte) bool {
	if n := bytes.LastIndex(body[:min(len(body), 256)], []byte(": ")); n >= 0 { // headers, as of encrypted keys
		line := bytes.IndexByte(body[n:], '\n')
		if line < 0 {
			return false
		}
		return digits64(body[n+line:]) >= 48
	}
	var first [64]byte
	n := 0
	for _, c := range body[:min(len(body), 512)] {
		if standard64(c) && n < len(first) {
			first[n] = c
			n++
		} else if n == len(first) || c > ' ' && c != '=' {
			break
		}
	}
	return n >= 48 && (random(first[:n]) || bytes.HasPrefix(first[:], []byte("b3BlbnNzaC1rZXktdjE")))
}

// standard64 reports whether a byte is a digit of base64 in files.
func standard64(c byte) bool { return base64Value[c] <= 63 && c != '-' && c != '_' }

// digits64 counts the digits of base64 that a text begins with, lines and blanks aside.
func digits64(text []byte) (n int) {
	for _, c := range text[:min(len(text), 512)] {
		if standard64(c) {
			n++
		} else if c > ' ' && c != '=' {
			break
		}
	}
	return n
}
