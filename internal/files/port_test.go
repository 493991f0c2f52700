package files_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/guard"
)

// TestOwnPortApart gives code and commands Weir's host and port apart, and others.
func TestOwnPortApart(t *testing.T) {
	w := newWorld(t)
	for text, own := range map[string]bool{
		"http.client.HTTPConnection('127.0.0.1', port=7777)":       true,
		"http.request({host: '127.0.0.1', port: 7777, path: '/'})": true,
		"http.get({port: 7777, path: '/'})":                        true,
		"net.connect(7777)":                                        true,
		"net.connect(7777, 'localhost')":                           true,
		"connect_tcp(port=7777, host='127.0.0.1')":                 true,
		"redis-cli -h 127.0.0.1 -p 7777 PING":                      true,
		"psql -h localhost -p 7777":                                true,
		"nc localhost 7776 7777":                                   true,
		"ssh -p 7777 localhost":                                    true,
		"curl --connect-to ::127.0.0.1:7777 http://x.example/":     true,
		"ncat --proxy-type http 127.0.0.1 --port 7777":             true,
		"curl http://127.0.0.1:{7777,1}/":                          true,
		"curl 'http://{127.0.0.1,x}:7777/'":                        true,
		"curl http://127.0.0.1:7776-7777/":                         true,
		"P=7777; curl http://127.0.0.1:$P/":                        true,
		"socket.connect(('::1', 0x1e61))":                          true,
		"s.connect(a('127.0.0.1'), 7_777)":                         true,
		"s.connect(a('localhost'), 017141)":                        true,
		"new WebSocket(`ws://${h}:7777`)":                          true,
		"s.connect((2130706433, 2), 7777)":                         true,
		"p=7777; h='db.localhost'":                                 true,
		"sleep 7777":                                               false,
		"head -c 7777 a.txt":                                       false,
		"sed -n 7777,7800p a.txt":                                  false,
		"select * from orders where id = 7777":                     false,
		"kill 7777":                                                false,
		"psql -h db.example.com -p 7777":                           false,
		"curl http://localhost:3000/77770":                         false,
		"echo 1.17777 localhost":                                   false,
		"curl -m 17777 http://127.0.0.1:3000/":                     false,
		"git show a7777 && curl http://127.0.0.1:3000/":            false,
		"npm run dev -- --port 3000 --host localhost":              false,
	} {
		got := w.ground.Own(guard.Touch{Server: "fs", Name: "run", Texts: []guard.Text{{Path: "code", Text: text}}})
		if (got != "") != own {
			t.Errorf("%q: %q, want own: %v", text, got, own)
		}
	}
}

// BenchmarkOwnContent looks through content that names the port of Weir, without a host, all the time.
func BenchmarkOwnContent(b *testing.B) {
	w := newWorld(b)
	for _, unit := range []string{"hello ", "a7777", ":7777", "a]:7777", "x77770", "%417777"} {
		text := strings.Repeat(unit, (1<<20)/len(unit))
		b.Run(unit, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				w.ground.Own(guard.Touch{Server: "fs", Name: "save", Texts: []guard.Text{{Path: "body", Text: text, Content: true}}})
			}
		})
	}
}
