package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/config"
)

const goodSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// TestWrongNotifications reads invalid sections. No problem quotes a possible secret.
func TestWrongNotifications(t *testing.T) {
	for _, c := range []struct{ notify, want string }{
		{"{webhook: {secret: " + goodSecret + "}}", "notify.webhook: url is missing"},
		{"{webhook: {url: 'https://a.example'}}", "notify.webhook: secret is missing"},
		{"{webhook: {url: 'https://a.example', secret: k3y}}", "notify.webhook.secret: it does not begin with whsec_"},
		{"{webhook: {url: 'https://a.example', secret: 'whsec_k3y!'}}", "notify.webhook.secret: it is not base64 after whsec_"},
		{"{webhook: {url: 'https://a.example', secret: whsec_azN5}}", "notify.webhook.secret: it has 3 bytes, not 24 to 64"},
		{"{webhook: {url: 'https://a.example', secret: '${NONE}'}}", "notify.webhook.secret: the variable NONE is not set"},
		{"{webhook: {url: 'http://a.example/k3y', secret: " + goodSecret + "}}", "notify.webhook.url: text would cross the network unencrypted"},
		{"{webhook: {url: 'https://k3y@a.example', secret: " + goodSecret + "}}", "notify.webhook.url: a user, a password or a fragment inside the URL"},
		{"{webhook: {url: 'https://a.example:99999/k3y', secret: " + goodSecret + "}}", "notify.webhook.url: not an absolute URL"},
		{"{webhook: {url: 'mailto:k3y', secret: " + goodSecret + "}}", "notify.webhook.url: not an absolute URL"},
		{"{webhook: {url: 'file:///k3y', secret: " + goodSecret + "}}", "notify.webhook.url: not an absolute URL"},
		{"{webhook: {url: 'https://a.example', secret: " + goodSecret + ", timeout: 5m}}", "notify.webhook.timeout: 5m0s is out of range"},
		{"{desktop: maybe}", "notify.desktop: must be true or false"},
		{"{phone: 1}", `unknown field "phone"`},
	} {
		_, err := config.Load("w.yaml", []byte("version: 1\nservers: {a: {command: b}}\nnotify: "+c.notify+"\n"), config.Options{})
		var problems config.Errors
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.notify, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "k3y") || strings.Contains(err.Error(), goodSecret[6:])) {
			t.Errorf("%s: quoted in %v", c.notify, err)
		}
	}
}

func TestTheConsoleIsForThisMachine(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:7777": true, ":0": true, "localhost:0": true, `"[::1]:0"`: true,
		"0.0.0.0:7777": false, "weir.example:80": false, "7777": false, "127.0.0.1": false, "127.0.0.1:http": false,
	} {
		_, err := config.Load("w.yaml", []byte("version: 1\nservers: {a: {command: b}}\nconsole: "+address+"\n"), config.Options{})
		if (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}
