package oauth_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zalando/go-keyring"

	"github.com/weir-mcp/weir/internal/oauth"
)

// A ring is a keyring in memory.
type ring struct {
	mu    sync.Mutex
	items map[string]string
	fail  error
}

func (r *ring) Get(_ context.Context, key string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.items[key], r.fail
}

func (r *ring) Set(_ context.Context, key, value string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail == nil {
		r.items[key] = value
	}
	return r.fail
}

func (r *ring) Delete(_ context.Context, key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.items, key)
	return r.fail
}

func grant(place oauth.Place) *oauth.Grant {
	return &oauth.Grant{
		Server: "https://a.example/mcp", Issuer: "https://b.example", ClientID: "c", Scopes: []string{"x"}, Place: place,
		Secret: oauth.Secret{Access: "acc3ss", Refresh: "r3fresh", Client: "s3cret"},
	}
}

// content returns all that is in the files of a directory.
func content(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", file, info.Mode(), err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	return b.String()
}

func TestVault(t *testing.T) {
	for name, c := range map[string]struct {
		ring  *ring
		place oauth.Place // that is asked for
		kept  oauth.Place
	}{
		"file":                         {&ring{items: map[string]string{}}, oauth.File, oauth.File},
		"keyring":                      {&ring{items: map[string]string{}}, oauth.Keyring, oauth.Keyring},
		"a keyring that takes nothing": {&ring{fail: errors.New("locked")}, oauth.Keyring, oauth.File},
		"no keyring":                   {nil, oauth.Keyring, oauth.File},
	} {
		t.Run(name, func(t *testing.T) {
			v := &oauth.Vault{Dir: filepath.Join(t.TempDir(), "a", "b")}
			if c.ring != nil {
				v.Ring = c.ring
			}
			if g, err := v.Load(t.Context(), "https://a.example/mcp"); g != nil || err != nil {
				t.Fatalf("before: %v, %v", g, err)
			}
			want := grant(c.place)
			if err := v.Save(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			got, err := v.Load(t.Context(), "HTTPS://A.example:443/mcp")
			if err != nil || got.Place != c.kept {
				t.Fatalf("%+v, %v", got, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if inFile := strings.Contains(content(t, v.Dir), "r3fresh"); inFile != (c.kept == oauth.File) {
				t.Errorf("tokens are in the file: %v", inFile)
			}
			if g, err := v.Load(t.Context(), "https://a.example/other"); g != nil || err != nil {
				t.Errorf("another server: %v, %v", g, err)
			}
			if c.ring != nil {
				c.ring.fail = nil
			}
			if err := v.Remove(t.Context(), want.Server); err != nil {
				t.Fatal(err)
			}
			if g, err := v.Load(t.Context(), want.Server); g != nil || err != nil || c.ring != nil && len(c.ring.items) > 0 {
				t.Errorf("after: %v, %v, %v", g, err, c.ring)
			}
		})
	}
}

func TestVaultRefuses(t *testing.T) {
	v := &oauth.Vault{Dir: t.TempDir()}
	if err := v.Save(t.Context(), grant(oauth.File)); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(v.Dir, "*.json"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	for name, c := range map[string]struct {
		change func() error
		want   string
	}{
		"others may read it": {func() error { return os.Chmod(files[0], 0o644) }, "can be read by others"},
		"another server's": {func() error {
			data, err := os.ReadFile(files[0])
			return errors.Join(err, os.WriteFile(files[0], []byte(strings.ReplaceAll(string(data), "a.example", "d.example")), 0o600))
		}, "another server"},
		"garbage": {func() error { return os.WriteFile(files[0], []byte(`{"secret":"acc3ss"`), 0o600) }, "not the file of a login"},
		"future":  {func() error { return os.WriteFile(files[0], []byte(`{"version":2}`), 0o600) }, "version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := errors.Join(v.Save(t.Context(), grant(oauth.File)), c.change()); err != nil {
				t.Fatal(err)
			}
			g, err := v.Load(t.Context(), "https://a.example/mcp")
			if g != nil || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "acc3ss") {
				t.Errorf("%v, %v", g, err)
			}
		})
	}
}

// A grant of a keyring that cannot be reached is no reason to ask for another login without saying why.
func TestVaultWithoutItsKeyring(t *testing.T) {
	v := &oauth.Vault{Dir: t.TempDir(), Ring: &ring{items: map[string]string{}}}
	if err := v.Save(t.Context(), grant(oauth.Keyring)); err != nil {
		t.Fatal(err)
	}
	v.Ring = nil
	if g, err := v.Load(t.Context(), "https://a.example/mcp"); err == nil || !strings.Contains(err.Error(), "keyring that cannot be reached") {
		t.Errorf("%v, %v", g, err)
	}
	if g, err := v.Look("https://a.example/mcp"); err != nil || !g.Secret.IsZero() || g.Issuer != "https://b.example" {
		t.Errorf("%v, %v", g, err)
	}
}

func TestSystemRing(t *testing.T) {
	keyring.MockInit()
	r := oauth.SystemRing{}
	if err := r.Delete(t.Context(), "a"); err != nil {
		t.Errorf("deleting what is not there: %v", err)
	}
	if err := r.Set(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Get(t.Context(), "a"); got != "b" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if err := r.Delete(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if got, err := r.Get(t.Context(), "a"); err == nil {
		t.Errorf("got %q after it was deleted", got)
	}
}

// A login that has not changed is not read again.
func TestTokenReadsOnce(t *testing.T) {
	v := &oauth.Vault{Dir: t.TempDir(), Ring: &ring{items: map[string]string{}}}
	g := grant(oauth.Keyring)
	if err := v.Save(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	s := oauth.NewSource(oauth.Server{URL: g.Server}, v)
	for range 2 {
		if token, err := s.Token(t.Context()); token != "acc3ss" || err != nil {
			t.Fatalf("%q, %v", token, err)
		}
		v.Ring = &ring{fail: errors.New("asked again")}
	}
}
