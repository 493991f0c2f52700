package expression_test

import (
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

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

func TestPathPlain(t *testing.T) {
	for want, paths := range map[bool][]string{
		true: {
			"notes.txt", "./notes.txt", "/home/ann/repo/report.md", "/tmp/x/001/notes.txt", "~/texts/a.csv", `C:\Users\ann\a.docx`, "src/main.go", "a b/ü.txt",
			"README", "lib/x.py", "etc/notes.txt", "work/hosts.md",
		},
		false: {
			"", "/", "~", ".", "..", "../a.txt", "a/../b.txt", ".bashrc", "/home/ann/.ssh/authorized_keys", "repo/.git/hooks/pre-commit", "repo/.cursor/mcp.json",
			".vscode/settings.json", "/etc/cron.d/x", `C:\Windows\x.txt`, `c:/windows/x.txt`, "/usr/local/x.txt", "a.sh", "A.SH", `a\b.Bat`, "Makefile", "x/MAKEFILE",
			"package.json", "AGENTS.md", "CLAUDE.md", "weir.yaml", "a.txt\x00.sh", "a.txt ", "a.txt.", "a.txt::$DATA", "a\u202etxt.sh", "a\n", "C:x/../a.sh",
			"/home/ann/bin/tool", "node_modules/x/index.js", "x/Startup/a.txt", "~root/a.txt", "$HOME/a.txt", "%APPDATA%/a.txt", "a/*.txt", "PROGRA~1/x.txt",
		},
	} {
		for _, p := range paths {
			if got := expression.PathPlain(p); got != want {
				t.Errorf("%q: %v, want %v", p, got, want)
			}
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
			"https://": "", "": "", "https://a b/": "", "file:///etc/passwd": "", "https://exa\tmple.com": "",
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
		"sql.verb": {expression.SQLVerb, map[string]string{
			"select 1": "SELECT", " /* a */ -- b\nUpdate t set a = 1;": "UPDATE", "(select 1)": "SELECT", "SELECT ';'": "SELECT", "select 1;;": "SELECT",
			"select 1; drop table t": "", "": "", ";": "", "'a'": "", "select 'a": "", "select /* a": "", "select 1 -- x": "SELECT", "select 1--1": "",
			"select /*! 1 */": "", "select /* a /* b */ */": "", "select # x": "", `select 'a\' ; drop table t -- '`: "", "select $$a$$": "", "select $1": "SELECT",
			"select q'[it''s]'": "", "select [a;b]": "", "select a[1]": "SELECT", "select 'it''s'": "SELECT", "select 1 -- \r ' \n; delete from t -- '": "",
			"select \"a;b\" from `c;d`": "SELECT", "1": "1", "select 1 ; -- done": "SELECT",
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
		{"::1", "1", false}, {"ü.example.com", "example.com", false},
	} {
		if got := expression.HostWithin(c.host, c.domain); got != c.want {
			t.Errorf("%q within %q: %v", c.host, c.domain, got)
		}
	}
}

func TestSQLReadOnly(t *testing.T) {
	for s, want := range map[string]bool{
		"SELECT * FROM t WHERE a = 'delete'":                           true,
		"select replace(a, 'x', 'y') from t order by 1 limit 5;":       true,
		"with x as (select 1) select * from x":                         true,
		"explain select 1":                                             true,
		"show tables":                                                  true,
		"describe t":                                                   true,
		"values (1)":                                                   true,
		"select \"update\" from t":                                     true,
		"select upd from t -- then update it":                          true,
		"with x as (delete from t returning *) select * from x":        false,
		"select * into t2 from t":                                      false,
		"select * from t into outfile '/tmp/x'":                        false,
		"select * from t for update":                                   false,
		"explain analyze delete from t":                                false,
		"select 1 delete from t":                                       false,
		"select nextval('s')":                                          false,
		"select pg_read_file('/etc/passwd')":                           false,
		"select dblink_exec('x', 'drop table t')":                      false,
		"select load_extension('x')":                                   false,
		"select pg_sleep (10)":                                         false,
		"exec xp_cmdshell 'x'":                                         false,
		"select 1; select 2":                                           false,
		"insert into t values (1)":                                     false,
		"pragma journal_mode = off":                                    false,
		"":                                                             false,
		"drop table t":                                                 false,
		"select /*!50000 1 into outfile '/x' */":                       false,
		"select 'a\\' into outfile '/x' -- '":                          false,
		"select * from openrowset('x', 'y', 'z')":                      false,
		"replace into t values (1)":                                    false,
		"select [a' from t; drop table t; --'] from u":                 false,
		"SELECT 1 # '\n; DELETE FROM t -- '":                           false,
		"select * from t where a = $tag$ ' $tag$; delete from t; -- '": false,
		"copy (select 1) to program 'x'":                               false,
	} {
		if got := expression.SQLReadOnly(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// FuzzHelpers gives any texts to every helper: none panics, and what they promise of their answers holds.
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
			if err != nil || !strings.EqualFold(strings.TrimSuffix(u.Hostname(), "."), host) {
				t.Errorf("the host of %q is not %q", a, host)
			}
		}
		if expression.HostWithin(a, b) && !strings.HasSuffix(strings.ToLower(strings.TrimSuffix(a, ".")), strings.ToLower(strings.TrimSuffix(b, "."))) {
			t.Errorf("%q is not within %q", a, b)
		}
		if domain := expression.EmailDomain(a); domain != "" && (strings.Count(a, "@") != 1 || strings.ContainsAny(domain, " ,;<>@")) {
			t.Errorf("%q has the domain %q", a, domain)
		}
		if command := expression.ShellCommand(a); command != "" && strings.ContainsAny(strings.Trim(a, "\n"), "\n\r`") {
			t.Errorf("%q runs %q", a, command)
		}
		if expression.SQLReadOnly(a) && expression.SQLVerb(a) == "" {
			t.Errorf("%q only reads, and is no statement", a)
		}
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
			expression.SQLReadOnly(long)
			expression.SQLReadOnly("select " + long)
			expression.ShellCommand("a " + long)
			expression.EmailDomain(long)
			expression.HostWithin(long, "a")
			expression.PathUnder(long, "/")
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
	query := "select a, b from t where c = 'x' and d in (1, 2, 3) order by a -- done"
	for name, f := range map[string]func(){
		"sql":   func() { expression.SQLReadOnly(query) },
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
