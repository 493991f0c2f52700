package sqlstore_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-mcp/weir/store"
)

var fileEdits = flag.Int("file.edits", 40, "how many edits of the files of a store and of its anchor TestFileEdits makes beside running processes")

// editedFiles are the files of a store and of its anchor. The shared memory of SQLite is not among them: it is memory of the processes.
func (r *rollback) editedFiles() []string {
	files := []string{r.target, r.target + "-wal", r.target + "-wal"}
	for _, name := range []string{"mark", "checkpoint", "seal", "key"} {
		files = append(files, filepath.Join(r.anchor, name))
	}
	return files
}

// editFile edits one of the files, where it is, and returns how.
func (r *rollback) editFile(past [][]byte, path string) (how string) {
	r.Helper()
	b := r.readFile(path)
	if len(b) == 0 {
		b = []byte{0}
	}
	at, n := r.random.IntN(len(b)), 1+r.random.IntN(4096)
	switch r.random.IntN(5) {
	case 0:
		b[at] ^= 1 << r.random.IntN(8)
		how = fmt.Sprint("a bit flipped at ", at)
	case 1:
		clear(b[at:min(len(b), at+n)])
		how = fmt.Sprintf("%d bytes zeroed at %d", n, at)
	case 2:
		other := r.random.IntN(len(b))
		how = fmt.Sprintf("%d bytes from %d over %d", copy(b[at:min(len(b), at+n)], b[other:]), other, at)
	case 3:
		how, b = fmt.Sprint("cut off at ", at), b[:at]
	default:
		how, b = "put back", past[r.random.IntN(len(past))]
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		r.Fatal(err)
	}
	return path + ": " + how
}

func (r *rollback) readFile(path string) []byte {
	r.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		r.Fatal(err)
	}
	return b
}

// While processes run on a store, its file, its write-ahead log or a file of its anchor is edited below all of its tables. Each read of a
// process that ran before, or that starts then, returns the truth or an error.
func TestFileEdits(t *testing.T) {
	good, bad := 0, 0
	for i := range *fileEdits {
		r := newRollback(t, file(t), *setBackSeed+uint64(i))
		past := map[string][][]byte{}
		for range 3 {
			for range 3 {
				if err := r.write(); err != nil {
					t.Fatal(err)
				}
			}
			for _, path := range r.editedFiles() {
				past[path] = append(past[path], r.readFile(path))
			}
		}
		path := pick(r, r.editedFiles()...)
		how := r.editFile(past[path], path)
		if fresh, err := r.open(); err == nil {
			r.dbs = append(r.dbs, fresh)
		}
		for _, db := range r.dbs {
			read, refused := r.look(db)
			good, bad = good+read, bad+refused
		}
		if t.Failed() {
			t.Fatalf("seed %d: %s", *setBackSeed+uint64(i), how)
		}
		r.close()
	}
	t.Logf("beside %d edits of files %d reads returned the truth, %d were refused", *fileEdits, good, bad)
	if good == 0 || bad == 0 {
		t.Error("nothing was tried")
	}
}

// An index of the questions that has lost its entries hides none of those with a binding, such as that a person has ended a session.
func TestEmptyIndexHidesNothing(t *testing.T) {
	for index, column := range map[string]string{"question_binding": "binding", "question_expires": "expires"} {
		target, anchor := file(t), filepath.Join(t.TempDir(), "anchor")
		db, _, err := openUnder(t, target, anchor)
		if err != nil {
			t.Fatal(err)
		}
		q := store.Question{ID: "q", Principal: "p", Binding: "end:x", Expires: time.Now().Add(time.Hour)}
		if err := errors.Join(db.Ask(t.Context(), q), db.Close()); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			"create table other as select * from question where false",
			"create index empty on other (" + column + ")",
			`pragma writable_schema = on;
update sqlite_master set rootpage = (select rootpage from sqlite_master where name = 'empty') where name = '` + index + `';
delete from sqlite_master where name in ('empty', 'other')`,
		} {
			edit(t, target, text)
		}
		if db, _, err = openUnder(t, target, anchor); err != nil {
			continue
		}
		found := 0
		for _, err = range db.Questions(t.Context(), store.QuestionQuery{Binding: "end:x"}) {
			found++
		}
		if err == nil && found == 0 {
			t.Errorf("without the entries of %s, there is no question", index)
		}
	}
}
