package publish_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/publish"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A fakeWitness is a witness of one log, as c2sp.org/tlog-witness has it.
type fakeWitness struct {
	tb   testing.TB
	log  note.Verifier
	key  ed25519.PrivateKey
	mute bool // it answers without a signature

	mu   sync.Mutex
	size int64
	root tlog.Hash
}

const witnessName = "witness.example"

// vkey is its public key.
func (w *fakeWitness) vkey() (string, []byte) {
	raw := append([]byte{4}, w.key.Public().(ed25519.PublicKey)...)
	sum := sha256.Sum256(append([]byte(witnessName+"\n"), raw...))
	return witnessName + "+" + hex.EncodeToString(sum[:4]) + "+" + base64.StdEncoding.EncodeToString(raw), sum[:4]
}

func (w *fakeWitness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	head, signed, _ := bytes.Cut(body, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	n, err := note.Open(signed, note.VerifierList(w.log))
	if err != nil || r.URL.Path != "/add-checkpoint" || r.Method != http.MethodPost {
		rw.WriteHeader(http.StatusForbidden)
		return
	}
	said := strings.Split(n.Text, "\n")
	size, _ := strconv.ParseInt(said[1], 10, 64)
	root, _ := tlog.ParseHash(said[2])
	if old, _ := strconv.ParseInt(strings.TrimPrefix(lines[0], "old "), 10, 64); old != w.size {
		rw.Header().Set("Content-Type", "text/x.tlog.size")
		rw.WriteHeader(http.StatusConflict)
		fmt.Fprintf(rw, "%d\n", w.size)
		return
	}
	var proof tlog.TreeProof
	for _, line := range lines[1:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			w.tb.Errorf("a proof with the line %q", line)
		}
		proof = append(proof, hash)
	}
	if w.size > 0 && tlog.CheckTree(proof, size, root, w.size, w.root) != nil {
		rw.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	w.size, w.root = size, root
	if w.mute {
		io.WriteString(rw, "— "+witnessName+" AAAAAAAA\n")
		return
	}
	io.WriteString(rw, w.sign(n.Text))
}

func (w *fakeWitness) sign(text string) string {
	const at = 1795255200
	_, hash := w.vkey()
	sig := ed25519.Sign(w.key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, text))
	raw := append(binary.BigEndian.AppendUint64(bytes.Clone(hash), at), sig...)
	return "— " + witnessName + " " + base64.StdEncoding.EncodeToString(raw) + "\n"
}

// A rig is a log and a witness of it.
type rig struct {
	*testing.T
	log     *audit.Log
	key     *audit.Key
	witness *fakeWitness
	url     string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	key, err := audit.NewKey("example.com/weir")
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(key.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, key: key, witness: &fakeWitness{tb: t, log: verifier, key: private}}
	r.log = r.fresh()
	server := httptest.NewServer(r.witness)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// fresh returns an empty log that the key signs.
func (r *rig) fresh() *audit.Log {
	r.Helper()
	db, err := sqlstore.Open(r.Context(), filepath.Join(r.TempDir(), "state.db"), nil)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { db.Close() })
	log, err := audit.Open(r.Context(), db.Log(), audit.NewAnchor(r.key))
	if err != nil {
		r.Fatal(err)
	}
	return log
}

// grow appends entries and returns a checkpoint.
func (r *rig) grow(log *audit.Log, n int, word string) []byte {
	r.Helper()
	entries := make([]audit.Entry, n)
	for i := range entries {
		entries[i].Subject = word
	}
	if _, err := log.Storage().Append(r.Context(), entries); err != nil {
		r.Fatal(err)
	}
	checkpoint, err := log.Checkpoint(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return checkpoint
}

func (r *rig) cosigner(log *audit.Log) *publish.Witness {
	r.Helper()
	vkey, _ := r.witness.vkey()
	w, err := publish.NewWitness(r.url+"/", vkey, log)
	if err != nil {
		r.Fatal(err)
	}
	return w
}

// A witness signs a log that grows, also for a publisher that does not know how far it is, and never another log.
func TestWitness(t *testing.T) {
	r := newRig(t)
	first := r.cosigner(r.log)
	for i, n := range []int{3, 1, 300} {
		if i == 2 {
			first = r.cosigner(r.log) // it has to ask
		}
		checkpoint := r.grow(r.log, n, "a")
		lines, err := first.Cosign(t.Context(), checkpoint)
		if err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		_, text, _ := bytes.Cut([]byte("x\n\n"+r.witness.sign(string(checkpoint[:bytes.Index(checkpoint, []byte("\n\n"))+1]))), []byte("\n\n"))
		if string(lines) != string(text) {
			t.Errorf("lines %q, want %q", lines, text)
		}
		if _, err := audit.Open(t.Context(), r.log.Storage(), audit.NewAnchor(r.key)); err != nil {
			t.Error(err)
		}
		if err := audit.Extends(t.Context(), r.log.Storage(), append(checkpoint, lines...), r.key.Verifier()); err != nil {
			t.Errorf("the checkpoint with its signature: %v", err)
		}
	}
	shorter := r.fresh()
	if _, err := r.cosigner(shorter).Cosign(t.Context(), r.grow(shorter, 100, "a")); !errors.Is(err, publish.ErrConflict) {
		t.Errorf("a log that was shortened: %v", err)
	}
	another := r.fresh()
	if _, err := r.cosigner(another).Cosign(t.Context(), r.grow(another, 400, "b")); !errors.Is(err, publish.ErrConflict) {
		t.Errorf("a log that was rewritten: %v", err)
	}
	r.witness.mute = true
	if lines, err := first.Cosign(t.Context(), r.grow(r.log, 1, "a")); err == nil {
		t.Errorf("an answer without a signature gave %q", lines)
	}
}

// extends tells whether the log extends a checkpoint.
func (r *rig) extends(log *audit.Log) func(context.Context, []byte) error {
	return func(ctx context.Context, old []byte) error {
		return audit.Extends(ctx, log.Storage(), old, r.key.Verifier())
	}
}

func TestFileKeepsWhatTheLogDoesNotExtend(t *testing.T) {
	r := newRig(t)
	path := filepath.Join(t.TempDir(), "checkpoint")
	put := func(log *audit.Log, checkpoint []byte) error {
		return publish.File(path, r.extends(log)).Publish(t.Context(), checkpoint)
	}
	old := r.grow(r.log, 5, "a")
	newest := r.grow(r.log, 5, "a")
	for _, checkpoint := range [][]byte{old, newest, old} {
		if err := put(r.log, checkpoint); err != nil {
			t.Fatal(err)
		}
	}
	another := r.fresh()
	for range 2 {
		if err := put(another, r.grow(another, 8, "a")); !errors.Is(err, audit.ErrDamaged) {
			t.Errorf("another log: %v", err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(newest) {
		t.Errorf("the file has %q, %v", got, err)
	}
}

// A lockedBuffer may be written and read concurrently.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A place that fails gets the newest checkpoint later, those that do not have it with the witness's signature; and nobody waits.
func TestPublisher(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex
	got, calls := "", 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(req.Body)
		if calls++; calls == 1 {
			http.Redirect(w, req, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		if req.Method == http.MethodPut && req.URL.Path == "/weir" && req.Header.Get("Authorization") == "Bearer hunter2" {
			got = string(body)
		}
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "checkpoint")
	checkpoint := r.grow(r.log, 7, "a")
	logged := &lockedBuffer{}
	p := publish.Start(publish.Options{
		Log: r.log, Witnesses: []*publish.Witness{r.cosigner(r.log)}, Logger: slog.New(slog.NewTextHandler(logged, nil)),
		Places: []publish.Place{publish.URL(server.URL+"/weir?key=hunter2", map[string]string{"Authorization": "Bearer hunter2"}),
			publish.File(path, r.extends(r.log))},
	})
	for logged.String() == "" {
		time.Sleep(time.Millisecond)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := string(checkpoint) + r.witness.sign(string(checkpoint[:bytes.Index(checkpoint, []byte("\n\n"))+1]))
	in, err := os.ReadFile(path)
	if err != nil || string(in) != want || got != want {
		t.Errorf("the file has %q, the URL %q, want %q, %v", in, got, want, err)
	}
	if text := logged.String(); !strings.Contains(text, "307") || strings.Contains(text, "hunter2") {
		t.Errorf("logged: %s", text)
	}
}

func TestKeysOfWitnesses(t *testing.T) {
	r := newRig(t)
	vkey, _ := r.witness.vkey()
	for _, key := range []string{"", "a", "a+b", "a+00000000+", strings.Replace(vkey, witnessName, "other.example", 1), vkey + "A", r.key.Verifier()} {
		if _, err := publish.NewWitness(r.url, key, r.log); err == nil {
			t.Errorf("the key %q was taken", key)
		}
	}
}
