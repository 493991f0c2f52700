package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weir-mcp/weir/internal/oauth/oauthtest"
)

// startOAuth is "oauth VAR": it starts an authorization server with an MCP server behind it, whose URL is in the variable, until
// the script ends. Its client "machine" has the secret "0123456789".
func startOAuth(ts *testscript.TestScript, _ bool, args []string) {
	s := &oauthtest.Server{Secret: "0123456789"}
	web := httptest.NewServer(s)
	ts.Defer(web.Close)
	s.URL = web.URL
	ts.Setenv(args[0], web.URL)
}

// browser is a user with a browser, as a program: it goes to its argument, and on from there.
func browser() {
	resp, err := http.Get(os.Args[1])
	if err == nil {
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
