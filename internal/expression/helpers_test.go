package expression_test

import (
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/expression"
)

func TestPathUnder(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{"/tmp/a", "/tmp", true}, {"/tmp", "/tmp", true}, {"/tmp/", "/tmp/", true}, {"/tmp//a/./b", "/tmp", true}, {"/x", "/", true},
		{"/tmp/a/../b", "/tmp", true}, {"a/b", ".", true}, {"a", "a", true}, {"./a/b", "a", true}, {"/tmp/a..b", "/tmp", true},
		{`C:\tmp\x`, `C:\tmp`, true}, {`C:/tmp/x`, `C:\tmp`, true}, {`/tmp/a\b`, "/tmp", true},
		{"/tmp/../etc", "/tmp", false}, {"/tmpx", "/tmp", false}, {"tmp/a", "/tmp", false}, {"/tmp/a", "tmp", false}, {"", "/tmp", false},
		{"/tmp", "", false}, {"..", ".", false}, {"../a", ".", false}, {"a/../../b", ".", false}, {"/tmp/\x00", "/tmp", false},
		{`/tmp\..\etc`, "/tmp", false}, {`/tmp/..\..\etc`, "/tmp", false}, {`/tmp/a\..\..\..\etc`, "/tmp", false}, {`C:\tmp\..\x`, `C:\tmp`, false},
		{`D:\tmp\x`, `C:\tmp`, false}, {"~/a", "/home", false}, {"a", "..", false}, {"C:x", ".", false}, {"//host/tmp", "/tmp", false},
	} {
		if got := expression.PathUnder(c.path, c.dir); got != c.want {
			t.Errorf("%q under %q: %v", c.path, c.dir, got)
		}
	}
}

func TestTexts(t *testing.T) {
	for name, c := range map[string]struct {
		f     func(string) string
		cases map[string]string
	}{
		"path.ext": {expression.PathExt, map[string]string{
			"a.TXT": ".txt", "/a.b/c": "", "/a/.bashrc": "", "a.tar.gz": ".gz", `a\b.exe`: ".exe", "": "", "a.": ".", "a.b/": "",
		}},
		"url.host": {expression.URLHost, map[string]string{
			"https://Example.COM:8443/x": "example.com", "https://a@example.com./": "example.com", "https://[::1]:80/": "::1", "http://1.2.3.4": "1.2.3.4",
			"https://good.example@evil.example/": "evil.example", `https://good.example\@evil.example/`: "", "https://ex\u3002ample.com/": "",
			"https://ex%61mple.com/": "", "//example.com": "", "example.com": "", "mailto:a@b": "", " https://example.com": "", "https://example.com\n": "",
			"https://": "", "": "", "https://a b/": "", "file:///etc/passwd": "", "https://exa\tmple.com": "", "http://0xA9.0xFEA9FE/": "169.254.169.254", "http://2130706433/": "127.0.0.1", "http://[::ffff:127.0.0.1]/": "127.0.0.1",
			"http://0177.0.0.1/": "", "https:example.com/": "", `https:\\example.com`: "", "https://a@b@example.com/": "",
		}},
		"url.scheme": {expression.URLScheme, map[string]string{"HTTPS://a/": "https", "javascript:alert(1)": "", "a": "", "ftp://x": "ftp"}},
		"url.path": {expression.URLPath, map[string]string{
			"https://a": "/", "https://a/b/%2e%2e/c": "/c", "https://a/../..": "/", "https://a/b/?q#f": "/b", "b/c": "", "https://a/%zz": "",
		}},
		"email.domain": {expression.EmailDomain, map[string]string{
			"ann@Example.com": "example.com", " Ann B <ann@example.com> ": "example.com", "a+b@x.example.com.": "x.example.com",
			"ann@example.com, bob@evil.example": "", "ann@example.com;bob@evil.example": "", "a@b@c": "", "@x": "", "a@": "", "ann": "", "": "",
			`"a@good.example" <b@evil.example>`: "", "a%evil.example@good.example": "", "evil.example!a@good.example": "", "a@good.example\r\nBcc: b@evil.example": "",
			"<a@b>": "b", "a@b>": "", "x <a@b> y": "", "a@[1.2.3.4]": "", "a@exämple.com": "", "a<b@c>@d": "", "a@b c": "",
		}},
		"shell.command": {expression.ShellCommand, map[string]string{
			"ls -l /tmp": "ls", "  git   status ": "git", "/bin/ls": "/bin/ls", `grep 'a b' "c d"`: "grep", `'l's`: "ls", "echo a=b": "echo", `echo "it's"`: "echo",
			"ls; rm x": "", "ls && rm x": "", "ls | sh": "", "ls > x": "", "ls $HOME": "", "ls `rm`": "", `ls "$(rm)"`: "", "ls *": "", "A=b ls": "",
			"ls\nrm x": "", "ls # x": "", "(ls)": "", "ls &": "", "ls \\; rm": "", `ls "a`: "", "ls 'a": "", "~/x": "", "ls {a,b}": "", "!ls": "",
			"": "", " ": "", "ls\x00": "", "ls\r": "", "\nls\n": "ls", `echo "a!b"`: "", "[ a ]": "", "#": "", "''": "", "ls a#b": "ls",
		}},
	} {
		for in, want := range c.cases {
			if got := c.f(in); got != want {
				t.Errorf("%s(%q) = %q, want %q", name, in, got, want)
			}
		}
	}
}

func TestHostWithin(t *testing.T) {
	for _, c := range []struct {
		host, domain string
		want         bool
	}{
		{"example.com", "example.com", true}, {"A.Example.com.", "example.com", true}, {"a.b.example.com", "example.com", true}, {"1.2.3.4", "1.2.3.4", true},
		{"evilexample.com", "example.com", false}, {"example.com.evil.example", "example.com", false}, {"", "", false}, {"a.com", "", false}, {"", "a.com", false},
		{"1.2.3.4", "3.4", false}, {"a..example.com", "example.com", false}, {"a/b.example.com", "example.com", false}, {"x.example.com", ".example.com", false},
		{"::1", "1", false}, {"ü.example.com", "example.com", true}, {"EVIL\u3002example.com", "example.com", true}, {"example.com%2eevil.example", "example.com", false},
	} {
		if got := expression.HostWithin(c.host, c.domain); got != c.want {
			t.Errorf("%q within %q: %v", c.host, c.domain, got)
		}
	}
}

// FuzzHelpers gives any texts to every helper: none panics, and their answers have the documented properties.
func FuzzHelpers(f *testing.F) {
	for _, s := range []string{"/tmp/../x", `C:\a\..`, "https://a@b.example:1/%2e%2e", "Ann <a@b.example>", "select 'a''b' /* c */;", `ls 'a b' "c"`, "x\x00\xff"} {
		f.Add(s, "/tmp")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if expression.PathUnder(a, b) {
			if p, dir := path.Clean(strings.ReplaceAll(a, `\`, "/")), path.Clean(strings.ReplaceAll(b, `\`, "/")); dir != "." && dir != "/" && p != dir && !strings.HasPrefix(p, dir+"/") {
				t.Errorf("%q is not under %q", a, b)
			}
		}
		if host := expression.URLHost(a); host != "" {
			u, err := url.Parse(a)
			if err != nil || address.Host(strings.Trim(u.Hostname(), "[]")) != host {
				t.Errorf("the host of %q is not %q", a, host)
			}
		}
		if expression.HostWithin(a, b) && !strings.HasSuffix(address.Host(a), address.Host(b)) {
			t.Errorf("%q is not within %q", a, b)
		}
		if domain := expression.EmailDomain(a); domain != "" && (strings.Count(a, "@") != 1 || address.Host(domain) != domain) {
			t.Errorf("%q has the domain %q", a, domain)
		}
		if command := expression.ShellCommand(a); command != "" && strings.ContainsAny(strings.Trim(a, "\n"), "\n\r`") {
			t.Errorf("%q runs %q", a, command)
		}
		if expression.PathPlain(a) && !expression.PathPlain(strings.ToUpper(a)) {
			t.Errorf("%q is plain, and not in capitals", a)
		}
		expression.PathNoSecrets(a)
		expression.PathExt(a)
		expression.URLPath(a)
		expression.URLScheme(a)
	})
}

// TestHelpersAreLinear gives them long texts of the kinds that make a naive reader start over and over.
func TestHelpersAreLinear(t *testing.T) {
	for _, s := range []string{"'", "/*", "[", "(", "--\n", ";", "a@", "<", `"a" `, "'a' ", "../", "a.", "$1", "`a`", "select "} {
		long := strings.Repeat(s, 1<<18/len(s))
		done := make(chan struct{})
		go func() {
			defer close(done)
			expression.ShellCommand("a " + long)
			expression.EmailDomain(long)
			expression.HostWithin(long, "a")
			expression.PathUnder(long, "/")
			expression.PathPlain(long + ".txt")
			expression.PathNoSecrets(long + ".txt")
			expression.URLHost("https://a/" + long)
		}()
		select {
		case <-done:
		case <-time.After(time.Minute): // a quadratic reader takes hours
			t.Fatalf("%q again and again takes too long", s)
		}
	}
}

func BenchmarkHelpers(b *testing.B) {
	for name, f := range map[string]func(){
		"shell": func() { expression.ShellCommand(`grep -rn 'a b' "c d" /tmp/x`) },
		"path":  func() { expression.PathUnder("/tmp/a/../b/c.txt", "/tmp") },
		"url":   func() { expression.URLHost("https://api.example.com/v1/x?y=z") },
		"email": func() { expression.EmailDomain("Ann B <ann@example.com>") },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}
