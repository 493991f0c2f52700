// Actors is MCP servers that really act, each on a library that other people's servers use, for attacks on Weir:
//
//	actors mcp-go DIR          files in DIR and an outbox, on mark3labs/mcp-go with typed arguments
//	actors go-sdk DIR          the same on the official SDK, with arguments that encoding/json decodes
//	actors sqlite FILE         query on a database of SQLite
//	actors postgres ADDRESS    query on a database of PostgreSQL
//
// It is a module of its own, so that Weir's own module does not depend on these libraries.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: actors mcp-go|go-sdk|sqlite|postgres PLACE")
		os.Exit(2)
	}
	serve := map[string]func(context.Context, string) error{
		"mcp-go": serveMCPGo, "go-sdk": serveGoSDK, "sqlite": serveSQL("sqlite"), "postgres": serveSQL("pgx"),
	}[os.Args[1]]
	if serve == nil {
		fmt.Fprintf(os.Stderr, "no actor is called %q\n", os.Args[1])
		os.Exit(2)
	}
	if err := serve(context.Background(), os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A write is the arguments of write_file.
type write struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// A mail is the arguments of send.
type mail struct {
	To   string `json:"to"`
	Body string `json:"body"`
}

// Schemas of the tools, which both libraries list alike.
var (
	writeSchema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`)
	mailSchema  = json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"body":{"type":"string"}},"required":["to"]}`)
)

// write stores a file below dir, whatever folders its path names.
func (w write) store(dir string) (string, error) {
	path := w.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return "wrote " + path, os.WriteFile(path, []byte(w.Content), 0o600)
}

// send appends to the outbox in dir.
func (m mail) send(dir string) (string, error) {
	f, err := os.OpenFile(filepath.Join(dir, "outbox"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s\t%q\n", m.To, m.Body)
	return "mailed " + m.To, err
}
