package address_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/address"
)

func TestHost(t *testing.T) {
	for raw, want := range map[string]string{
		"Shop.Example.": "shop.example", "0xA9.0xFEA9FE": "169.254.169.254", "0251.0376.0251.0376": "169.254.169.254", "0x7f.1": "127.0.0.1",
		"2130706433": "127.0.0.1", "[::ffff:127.0.0.1]": "127.0.0.1", "[::1]": "::1", "[FE80::1%25eth0]": "fe80::1", "evil\u3002example": "evil.example",
		"www\uff0eevil\uff0eexample": "www.evil.example", "ev\uff49l.example": "evil.example", "ex%61mple.com": "example.com", "m\u00fcnchen.de": "xn--mnchen-3ya.de",
		"XN--MNCHEN-3YA.de": "xn--mnchen-3ya.de", "localhost": "localhost", "": "", "a b": "", "a..b": "", "1.2.3.4.5": "", "256.1.1.1": "", "1.2.3.09": "",
		"a/b": "", "ev\u00adil.example": "evil.example", "169.254.43518": "169.254.169.254", "a.0x7f": "",
	} {
		if got := address.Host(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

// TestReadSure holds which texts all programs read alike.
func TestReadSure(t *testing.T) {
	for text, want := range map[string]string{
		"https://Shop.Example:8080/x": "shop.example", "https://acme.example@evil.example/": "evil.example", "http://a.example./": "a.example",
		"ben@acme.example": "acme.example", "mailto:ben@acme.example": "acme.example", "Ben <ben@Acme.example>": "acme.example",
		`"Byron, Ada" <ada@acme.example>`: "acme.example", "www.acme.example/x": "www.acme.example", "acme.example": "acme.example",
		"shop.example:80/x": "shop.example", "shop.example?x": "shop.example", "10.1.2.3/x": "10.1.2.3", "http://0xA9.0xFEA9FE/": "169.254.169.254",
		"http://2130706433/": "127.0.0.1", "report.pdf": "report.pdf", "[::1]:80": "::1",
		"eve@evil.example, ann@acme.example": "evil.example acme.example", "eve@evil.example;ann@acme.example": "evil.example acme.example",
		`"x" <mallory@evil.example>, ann@acme.example`: "evil.example acme.example",
	} {
		r := address.Read(text)
		if got := strings.Join(r.Hosts(), " "); got != want || !r.Sure {
			t.Errorf("%q: %q, sure %v, want %q", text, got, r.Sure, want)
		}
	}
}

// TestReadUnsure holds that a text with more than one reading is not sure, and that no reading is missed.
func TestReadUnsure(t *testing.T) {
	for text, want := range map[string]string{
		`"a@b.example"@evil.example`: "evil.example", "mallory%evil.example@acme.example": "evil.example acme.example", "evil.example!ann@acme.example": "evil.example acme.example",
		"evil.example/a@acme.example": "evil.example acme.example", "evil.example?a@acme.example": "evil.example acme.example", "mailto:a@x.example?bcc=b@evil.example": "x.example evil.example",
		`https:\evil.example\@acme.example`: "evil.example acme.example", "evil.example:80@acme.example": "evil.example acme.example", "https:evil.example/x": "evil.example",
		`https:\\evil.example\x`: "evil.example", "http:/evil.example": "evil.example", "///evil.example": "evil.example", "//evil.example": "evil.example", `\\evil.example\share`: "evil.example",
		"2130706433/x": "127.0.0.1", "0x7f.1": "127.0.0.1", "http://0177.0.0.1/": "127.0.0.1", "https://evil\u3002example/": "evil.example", "evil\uff61example/x": "evil.example",
		"https://acme.example\t.evil.example/": "acme.example.evil.example", "https://a@acme.example@evil.example": "evil.example", `https://evil.example\@acme.example/`: "evil.example acme.example",
		"mallory@evil.example ann@acme.example": "evil.example acme.example", "Team: eve@evil.example, ann@acme.example;": "evil.example acme.example",
		"ann@acme.example (eve@evil.example)": "evil.example acme.example", "ann@acme.example\nBcc: eve@evil.example": "evil.example acme.example",
		"ann@acme.example%0aBcc:eve@evil.example": "evil.example acme.example", "<@evil.example:ann@acme.example>": "evil.example acme.example",
		"git@evil.example:acme/x.git": "evil.example", "jdbc:postgresql://evil.example:5432/x": "evil.example", "file://evil.example/share": "evil.example",
		"=?utf-8?q?x?= <eve@evil.example>": "evil.example", "evil dot example": "evil.example", "postgres://acme.example,evil.example/db": "evil.example acme.example",
		"postgres://acme.example/db?host=evil.example": "acme.example", "socks5h://acme.example": "acme.example", "redis+sentinel://acme.example": "acme.example",
	} {
		r := address.Read(text)
		hosts := r.Hosts()
		for w := range strings.FieldsSeq(want) {
			if !slices.Contains(hosts, w) {
				t.Errorf("%q: %q, without %q", text, hosts, w)
			}
		}
		if r.Sure {
			t.Errorf("%q is sure: %q", text, hosts)
		}
	}
	for _, text := range []string{"", "Ben", "notes/today.txt/x y", "/home/ben/a", `C:\a`, "a: b", "4.5", "-", "12"} {
		if r := address.Read(text); r.Sure || len(r.Places) != 0 {
			t.Errorf("%q leads to %+v", text, r)
		}
	}
}

// TestFind holds which parts of running text count as places.
func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		`Dear Ben, see <https://a.example/x>, mail "eve@evil.example". Pay 25,000 to DE89370400440532013000 (call 2026-11-21)! v1.2`: "https://a.example/x eve@evil.example DE89370400440532013000",
		"pay to DE02 1203 0000 0000 2020 51": "DE02 1203 0000 0000 2020 51", "account 12-34 56 78 90 12": "12-34 56 78 90 12", "call +49 30 12 34 56 78": "+49 30 12 34 56 78",
		"see evil\u3002example": "evil\u3002example", "see www\uff0eevil\uff0eexample": "www\uff0eevil\uff0eexample", "[log in](//evil\u3002example)": "//evil\u3002example",
		"go to evil dot example": "evil dot example", "evil[.]example": "evil[.]example", "s\r\nBcc: x": "Bcc: x", "s\u2028Bcc: x": "Bcc: x", "s\vBcc: x": "Bcc: x",
		"s\u0085Resent-Bcc : x": "Resent-Bcc : x", "s\x1eErrors-To:x": "Errors-To:x", "s\nDisposition-Notification-To: x": "Disposition-Notification-To: x", "<a href=//evil.example>": "href=//evil.example",
		"http:/evil.example": "http:/evil.example", "q9.io/Tr": "q9.io/Tr", "evil.example?x": "evil.example?x", "(069) 555-01-23": "069) 555-01-23", "call 069/5550123": "069/5550123",
		"wallet bc1qar0srrr7xfkvy5l643lydnw9re": "bc1qar0srrr7xfkvy5l643lydnw9re", "eve at evil (dot) example": "evil (dot) example", "\u0663\u0660\u0663\u0660\u0663\u0660\u0663\u0660\u0663": "303030303",
		"&#104;ttps&#x3a;//evil&#46;example/x": "https://evil.example/x", "evil&period;example/x": "evil.example/x", "eve&commat;evil.example": "eve@evil.example",
		"see 192.168.0.1": "192.168.0.1", "www.evil.example.They": "www.evil.example.They", "evil.exampleです": "evil.exampleです",
	} {
		var got []string
		for _, p := range address.Find(text) {
			if !slices.Contains(got, p.Text) {
				got = append(got, p.Text)
			}
		}
		for w := range strings.SplitSeq(want, "\n") {
			if !strings.Contains(strings.Join(got, " "), w) {
				t.Errorf("%q: %q, want %q", text, got, w)
			}
		}
	}
	for _, text := range []string{
		"It costs 25,000 or 1.234.567 euros, 98.7 %, on 2026-11-21 at 09:30.", "main.go and report.pdf, e.g. v1.2.3", "// a comment", "Good. Next day", "polka dot dress", "12345678", "21.11.2026",
	} {
		if got := address.Find(text); len(got) != 0 {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestNamed holds that file names and typing name no site.
func TestNamed(t *testing.T) {
	hosts := address.Reading{Places: address.Named("Write report.zip and setup.py too.In short, see wikipedia.org, www.our-company.com.They say https://shop.in/ and rust.rs/x")}.Hosts()
	want := []string{"wikipedia.org", "www.our-company.com", "shop.in", "rust.rs"}
	for _, w := range want {
		if !slices.Contains(hosts, w) {
			t.Errorf("%q is not among %q", w, hosts)
		}
	}
	for _, h := range []string{"report.zip", "setup.py", "too.in"} {
		if slices.Contains(hosts, h) {
			t.Errorf("%q is named", h)
		}
	}
}

func TestInternal(t *testing.T) {
	for host, want := range map[string]bool{
		"0xA9.0xFEA9FE": true, "0251.0376.0251.0376": true, "0x7f.1": true, "0177.0.0.1": true, "[::ffff:127.0.0.1]": true, "0.0.0.0": true, "100.100.100.200": true,
		"2130706433": true, "169.254.169.254": true, "[fd00:ec2::254]": true, "[64:ff9b::7f00:1]": true, "[2002:7f00:1::]": true, "[fec0::1]": true, "192.0.0.1": true,
		"198.18.0.1": true, "240.0.0.1": true, "localhost": true, "a.localhost": true, "printer.local": true, "wiki": true, "wiki.corp": true, "metadata.google.internal": true,
		"": true, "a b": true, "127.0.0.1.nip.io": true, "168.63.129.16": true, "router.lan": true, "x.home.arpa": true, "[::127.0.0.1]": true, "localhost\uff0e": true, "l\uff4fcalhost": true,
		"evil.example": false, "example.com": false, "8.8.8.8": false, "[2606:4700::1111]": false, "[2002:808:808::]": false, "bbc.co.uk": false, "172.15.0.1": false, "172.217.0.1": false,
	} {
		if got := address.Internal(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
	for addr, public := range map[string]bool{
		"8.8.8.8": true, "2001:4860:4860::8888": true, "10.0.0.1": false, "192.168.1.1": false, "100.64.0.1": false, "169.254.169.254": false,
		"127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false, "fd00::1": false, "fe80::1": false, "0.0.0.0": false,
	} {
		if got := address.Public(netip.MustParseAddr(addr)); got != public {
			t.Errorf("%s: public %v", addr, got)
		}
	}
	if !address.Public(netip.MustParseAddr("64:ff9b::808:808")) {
		t.Error("an address that translates to a public one is not public")
	}
}

// FuzzRead gives any text: nothing panics, and a sure reading has a host in its own form, which is read again as the
// same.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"a@b.example,c@d.example", `https:\\a@b`, "0x7f.1/x", "evil\u3002example", "\"a\" <b@c.example>;", "[::1]:8", "a.b:9?x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := address.Read(s)
		for _, p := range r.Places {
			if p.Host != "" && address.Host(p.Host) != p.Host && !strings.Contains(p.Host, ":") {
				t.Errorf("%q: the form of %q is %q", s, p.Host, address.Host(p.Host))
			}
		}
		if r.Sure && len(r.Hosts()) != len(r.Places) {
			t.Errorf("%q is sure without a host", s)
		}
		address.Find(s)
		address.Named(s)
		address.Internal(s)
	})
}
