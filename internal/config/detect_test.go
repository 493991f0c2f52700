package config_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/config"
)

// TestSentDestinations reads the destinations before which findings in arguments are redacted.
func TestSentDestinations(t *testing.T) {
	load := func(sent string) (*config.Config, error) {
		return config.Load("weir.yaml", []byte("version: 1\nservers: {a: {command: x}}\ndetect:\n  sent: "+sent+"\n"), config.Options{
			Findings: []string{"credentials", "pii"},
		})
	}
	c, err := load("{credentials: [public, internal]}")
	if err != nil || len(c.Detect.Sent["credentials"]) != 2 {
		t.Fatalf("read %+v: %v", c, err)
	}
	for sent, want := range map[string]string{
		"{credential: [public]}": "did you mean credentials?",
		"{credentials: [pubic]}": `"pubic" is no destination`,
		"{credentials: []}":      "no destination is named",
		"{credentials: {a: b}}":  "detect.sent",
		"[credentials]":          "detect.sent",
	} {
		if _, err := load(sent); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", sent, err, want)
		}
	}
}

// TestExternalDetectors reads detectors in other programs, and reports their mistakes without their secrets.
func TestExternalDetectors(t *testing.T) {
	load := func(external string) (*config.Config, error) {
		return config.Load("weir.yaml", []byte("version: 1\nservers: {a: {command: x}}\ndetect:\n  external:\n    n: "+external+"\n"), config.Options{
			Lookup: func(name string) (string, bool) { return "s3cret", name == "TOKEN" },
		})
	}
	c, err := load(`{kind: classifier, url: "http://127.0.0.1:8080/predict", token: "${TOKEN}", labels: [INJECTION], threshold: 90, timeout: 1s}`)
	if err != nil || len(c.Detect.External) != 1 || c.Detect.External[0].Token != "s3cret" || c.Detect.External[0].Threshold != 90 {
		t.Fatalf("read %+v: %v", c, err)
	}
	for external, want := range map[string]string{
		`{url: "https://a.example/analyze"}`:                                  "kind is missing",
		`{kind: presidio}`:                                                    "n.url: not an absolute URL",
		`{kind: presidio, url: "http://a.example/k3y"}`:                       "unencrypted",
		`{kind: presido, url: "https://a.example/"}`:                          "did you mean presidio?",
		`{kind: moderation, url: "https://a.example/"}`:                       "labels are missing",
		`{kind: presidio, url: "https://a.example/", threshold: 101}`:         "n.threshold: it is out of range",
		`{kind: presidio, url: "https://a.example/", timeout: 2m}`:            "n.timeout: it is out of range",
		`{kind: presidio, url: "https://a.example/", token: "${UNSET}"}`:      "UNSET",
		`{kind: presidio, url: "https://a.example/", colour: red}`:            `unknown field "colour"`,
		`{kind: presidio, url: "https://ann:k3y@a.example/", language: "en"}`: "a user, a password",
	} {
		_, err := load(external)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "k3y") {
			t.Errorf("%s: %v, want %s", external, err, want)
		}
	}
}
