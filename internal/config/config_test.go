package config_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/policy"
)

var update = flag.Bool("update", false, "write the golden files")

func lookup(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func TestLoad(t *testing.T) {
	src := `
version: 1
mode: warn
policy: rules/policy.yaml
record: /var/log/weir.jsonl
store: postgres://weir:${TOKEN}@db/weir
listen: :8080
http:
  token: ${HTTP_TOKEN}
  tls: {cert: cert.pem, key: /etc/ssl/key.pem}
  hosts: [weir.example]
  origins: ["https://app.example:8443"]
  share: true
  apart: true
console: localhost:7777
notify:
  desktop: true
  webhook: {url: "https://hooks.example/${TENANT}", secret: "${HOOK}", answers: true, timeout: 3s}
approval: {timeout: 90s}
pins: {file: locks/weir.lock, mode: review}
limits: {message: 1MiB, startup: 2s, in_flight: 100MiB, traces: 32MiB, connections: 100, sessions: 10, processes: 5}
servers:
  mail:
    command: ./bin/mail
    args: ["--port", "80", "${PORT:-8080}", "$${PLAIN}", "cost: 5$"]
    env: {TOKEN: "${env:TOKEN}", EMPTY: ""}
    cwd: data
    trust: known
    timeout: 1m30s
  search:
    url: https://search.example/${TENANT}/mcp
    headers:
      Authorization: Bearer ${TOKEN}
    auth: {flow: none}
  wiki:
    url: https://wiki.example/mcp
    auth:
      flow: client-credentials
      client_id: weir-${TENANT}
      client_secret: ${TOKEN}
      issuer: https://login.example
      scopes: [read, write]
  notes:
    url: https://notes.example/mcp
    auth: {client_id: abc, redirect_port: 8765}
  old:
    url: http://127.0.0.1:9000/sse
    transport: sse
    trust: trusted
    catalogue: files
    resolve: 3s
    results: hide
  off:
    command: ${NEVER_SET}
    catalogue: false
    resolve: false
    results: {inbox: hide, sent: show}
    disabled: true
overlays: [rules/own.yaml, /etc/shared.yaml]
catalogue: false
durability: strict
plan: offer
exec: true
quarantine: {url: "https://model.example/v1", model: small, key: "${TOKEN}", timeout: 5s}
retention: {sessions: 30d, labels: forever, events: 365d, content: 7d, size: 2GiB}
capture:
  content: encrypted
  recipients: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p]
  fields: {mail/send: [/arguments/to, /result/structuredContent/id], "*": [/arguments/path]}
checkpoints:
  every: 5m
  publish:
    - file: out/checkpoint
    - {url: "https://notary.example/weir", headers: {Authorization: "Bearer ${TOKEN}"}}
    - {witness: "https://witness.example", key: w+1+a}
annotations:
  to_hosts: [mcp, sep-1913, trust-annotations]
  to_servers: []
  labels:
    com.example/label: {confidential: [pii, "regulated:GDPR"], "true": [credentials], public: []}
`
	got, err := config.Load("weir.yaml", []byte(src), config.Options{
		Dir: "/etc/weir", Lookup: lookup(map[string]string{"TOKEN": "t0k", "TENANT": "acme", "HTTP_TOKEN": "0123456789abcdef",
			"HOOK": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}),
	})
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	want := &config.Config{
		Durability: config.Strict, Retention: config.Retention{Sessions: 30 * day, Events: 365 * day, Content: 7 * day, Size: 2 << 30},
		Capture: config.Capture{
			Content: true, Recipients: []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"},
			Fields: map[string][]string{"mail/send": {"/arguments/to", "/result/structuredContent/id"}, "*": {"/arguments/path"}},
		},
		Checkpoints: config.Checkpoints{Every: 5 * time.Minute, Publish: []config.Publication{
			{File: "/etc/weir/out/checkpoint"},
			{URL: "https://notary.example/weir", Headers: map[string]string{"Authorization": "Bearer t0k"}},
			{Witness: "https://witness.example", Key: "w+1+a"},
		}},
		Results: config.Results{Plan: config.OfferPlans, Exec: true, Quarantine: config.Quarantine{URL: "https://model.example/v1", Model: "small", Key: "t0k", Timeout: 5 * time.Second}},
		Mode:    policy.WarnOnly, Policy: "/etc/weir/rules/policy.yaml",
		Overlays: []string{"/etc/weir/rules/own.yaml", "/etc/shared.yaml"}, NoCatalogue: true, Record: "/var/log/weir.jsonl", Store: "postgres://weir:t0k@db/weir", Listen: "127.0.0.1:8080",
		Console: "localhost:7777", Notify: config.Notify{Desktop: true, Webhook: config.Webhook{
			URL: "https://hooks.example/acme", Secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", Answers: true, Timeout: 3 * time.Second,
			Key: []byte("0123456789abcdef0123456789abcdef"),
		}},
		Approval: config.Approval{Timeout: 90 * time.Second, Pace: config.DefaultPace, Hold: config.DefaultHold}, Startup: 2 * time.Second, Limits: config.Limits{Message: 1 << 20, InFlight: 100 << 20, Traces: 32 << 20, Connections: 100, Sessions: 10, Processes: 5}, Pins: config.Pins{File: "/etc/weir/locks/weir.lock", Review: true},
		Words: config.Words{ToHosts: []string{"mcp", "sep-1913", "trust-annotations"}, ToServers: []string{}, Labels: annotation.Meanings{
			"com.example/label": {"confidential": {"pii", "regulated:GDPR"}, "true": {"credentials"}, "public": {}}}},
		HTTP: config.Listener{
			Token: "0123456789abcdef", Cert: "/etc/weir/cert.pem", Key: "/etc/ssl/key.pem",
			Hosts: []string{"weir.example"}, Origins: []string{"https://app.example:8443"}, Share: true, Apart: true,
		},
		Servers: []config.Server{{
			Name: "mail", Command: "/etc/weir/bin/mail", Args: []string{"--port", "80", "8080", "${PLAIN}", "cost: 5$"},
			Env: map[string]string{"TOKEN": "t0k", "EMPTY": ""}, Dir: "/etc/weir/data", Transport: config.Stdio,
			Trust: contract.Known, Timeout: 90 * time.Second,
		}, {
			Name: "search", URL: "https://search.example/acme/mcp", Transport: config.HTTP,
			Headers: map[string]string{"Authorization": "Bearer t0k"}, Auth: config.Auth{Flow: config.NoFlow},
		}, {
			Name: "wiki", URL: "https://wiki.example/mcp", Transport: config.HTTP, Auth: config.Auth{
				Flow: config.ClientCredentials, ClientID: "weir-acme", ClientSecret: "t0k", Issuer: "https://login.example",
				Scopes: []string{"read", "write"},
			},
		}, {
			Name: "notes", URL: "https://notes.example/mcp", Transport: config.HTTP, Auth: config.Auth{ClientID: "abc", RedirectPort: 8765},
		}, {
			Name: "old", URL: "http://127.0.0.1:9000/sse", Transport: config.SSE, Trust: contract.Trusted, Catalogue: "files", Resolve: 3 * time.Second, Hide: []string{config.AllResults},
		}, {
			Name: "off", Command: "${NEVER_SET}", Transport: config.Stdio, Disabled: true, Catalogue: config.NoCatalogue, Resolve: -1, Hide: []string{"inbox"},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDefaults(t *testing.T) {
	got, err := config.Load("conf/weir.yaml", []byte("version: 1\npolicy: p.yaml\nrecord: none\nservers: {a: {command: a}}"), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		Servers: []config.Server{{Name: "a", Command: "a", Transport: config.Stdio}},
		Policy:  filepath.Join("conf", "p.yaml"), Record: config.NoRecord,
		Approval: config.Approval{Timeout: 5 * time.Minute, Pace: config.DefaultPace, Hold: config.DefaultHold}, Startup: 10 * time.Second, Limits: config.Limits{Message: 64 << 20}, Pins: config.Pins{File: filepath.Join("conf", "weir.lock")},
		Retention:   config.Retention{Sessions: 90 * 24 * time.Hour, Labels: 90 * 24 * time.Hour, Content: 30 * 24 * time.Hour, Events: 396 * 24 * time.Hour, Size: 20 << 30},
		Checkpoints: config.Checkpoints{Every: time.Minute},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestProblems compares every problem of each file with the golden file. No problem may show a secret.
func TestProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/problems/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = config.Load("weir.yaml", src, config.Options{})
			var problems config.Errors
			if !errors.As(err, &problems) {
				t.Fatalf("got %v", err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n")
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("a problem shows a value")
			}
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// TestDocumentation loads the first example of docs/configuration.md.
func TestDocumentation(t *testing.T) {
	doc, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(doc), "```yaml\n")
	example, _, ok := strings.Cut(example, "```")
	if !ok {
		t.Fatal("no example")
	}
	vars := lookup(map[string]string{"MAIL_TOKEN": "x", "SEARCH_TOKEN": "x"})
	if _, err := config.Load("weir.yaml", []byte(example), config.Options{Lookup: vars}); err != nil {
		t.Error(err)
	}
}

func TestOverlays(t *testing.T) {
	const src = "version: 1\noverlays: [a.yaml, b.yaml, c.yaml]\nservers:\n  m: {command: m, catalogue: filesystm}\n"
	_, err := config.Load("weir.yaml", []byte(src), config.Options{
		Catalogue: []string{"filesystem", "memory"},
		Overlay: func(path string) error {
			switch path {
			case "a.yaml":
				return nil
			case "b.yaml":
				return overlay.Errors{{File: path, Line: 3, Col: 1, Msg: "bad", Hint: "do better"}}
			}
			return errors.New("no such file")
		},
	})
	const want = `weir.yaml:2:28: no such file
  hint: the path is relative to this file
weir.yaml:4:19: server "m": the catalogue has no entry "filesystm"
  hint: did you mean filesystem?
b.yaml:3:1: bad
  hint: do better`
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}
