package config

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// readNotify reads the section of that name.
func readNotify(r reader, m member) {
	n := &r.d.Config.Notify
	r.object(m, fields{
		"desktop": r.boolean(&n.Desktop),
		"webhook": func(m member) {
			r.object(m, fields{
				"url":     r.text(&n.Webhook.URL),
				"secret":  r.text(&n.Webhook.Secret),
				"answers": r.boolean(&n.Webhook.Answers),
				"timeout": r.duration(&n.Webhook.Timeout),
			})
			if _, ok := m.value.(*ast.MappingNode); !ok {
				return
			}
			for _, required := range []string{"url", "secret"} {
				if !r.d.Has(Pointer("notify", "webhook", required)) {
					r.d.Fault(m.at, "add "+required+", see docs/approvals.md", "%s: %s is missing", m.name, required)
				}
			}
		},
	})
}

// Bounds of the settings of a webhook.
const (
	secretPrefix = "whsec_" // of secrets as Standard Webhooks has them
	minSecret    = 24       // bytes
	maxSecret    = 64
	maxHookTime  = time.Minute
)

// checkNotify expands and checks the section notify. No message quotes a URL, which may hold a key, or the secret.
func checkNotify(d *Draft, opts Options) {
	w := &d.Config.Notify.Webhook
	at := func(member string) Place { return d.Place(Pointer("notify", "webhook", member)) }
	sound := true
	for _, v := range []struct {
		name  string
		value *string
	}{{"url", &w.URL}, {"secret", &w.Secret}} {
		text, flaws := expand(*v.value, opts.Lookup)
		*v.value = text
		for _, f := range flaws {
			sound = false
			d.Fault(at(v.name), f.hint, "notify.webhook.%s: %s", v.name, f.msg)
		}
	}
	if !sound {
		return
	}
	if wrong := wrongHook(w.URL); wrong != "" && w.URL != "" {
		d.Fault(at("url"), "write it as https://host/path", "notify.webhook.url: %s", wrong)
	}
	if w.Secret != "" {
		var err error
		if w.Key, err = parseSecret(w.Secret); err != nil {
			d.Fault(at("secret"), `make one: echo "whsec_$(head -c 32 /dev/urandom | base64)"`, "notify.webhook.secret: %v", err)
		}
	}
	if w.Timeout > maxHookTime {
		d.Fault(at("timeout"), "use 1m at most", "notify.webhook.timeout: %s is out of range", w.Timeout)
	}
}

// wrongHook returns the problem of the URL of a webhook; "" if it has none.
func wrongHook(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "" || !validPort(u.Port(), u.Port() == ""):
		return "not an absolute URL"
	case u.Scheme != "https" && !(u.Scheme == "http" && Loopback(u.Hostname())):
		return "text would cross the network unencrypted"
	case u.User != nil || u.Fragment != "":
		return "a user, a password or a fragment inside the URL"
	}
	return ""
}

// parseSecret reads a secret in the form of Standard Webhooks 1.0.0: whsec_ and 24 to 64 bytes in base64.
func parseSecret(s string) ([]byte, error) {
	text, ok := strings.CutPrefix(s, secretPrefix)
	if !ok {
		return nil, fmt.Errorf("it does not begin with %s", secretPrefix)
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("it is not base64 after %s", secretPrefix)
	}
	if len(key) < minSecret || len(key) > maxSecret {
		return nil, fmt.Errorf("it has %d bytes, not %d to %d", len(key), minSecret, maxSecret)
	}
	return key, nil
}
