package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/store"
)

// openFor opens the store in a directory as another process does.
func openFor(t *testing.T, dir string) *DB {
	a, err := audit.OpenAnchor(filepath.Join(dir, "anchor"), "example.com/weir", nil)
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), filepath.Join(dir, "state.db"), &Options{Anchor: a})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = db.Close(), a.Close() })
	return db
}

// proved reads the rows as a database does that remembers none.
func (d *DB) proved(t *rapid.T, key, resource, binding string) (s recentSession, taints []store.Taint, questions []store.Question) {
	row, err := d.provenSession(t.Context(), key)
	if err == nil {
		err = d.proven(t.Context(), nil, func(s *snapshot) (err error) {
			if taints, err = d.taintsAt(t.Context(), s, resource); err == nil {
				questions, err = d.boundAt(t.Context(), s, binding)
			}
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return row.recentSession, taints, questions
}

// remembered reads the same rows as decisions do.
func (d *DB) remembered(t *rapid.T, key, resource, binding string) (s recentSession, taints []store.Taint, questions []store.Question) {
	var errs [3]error
	s.Session, s.there, errs[0] = d.session(t.Context(), key)
	s.Key = key
	taints, errs[1] = d.taintsAround(t.Context(), resource)
	questions, errs[2] = d.boundNow(t.Context(), binding)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return s, taints, questions
}

// Remembered rows are those that a query and a proof return, after any writes of this process and of another one.
func TestRememberedRows(t *testing.T) {
	dir, round := t.TempDir(), 0
	dbs := []*DB{openFor(t, dir), openFor(t, dir)}
	rapid.Check(t, func(t *rapid.T) {
		round++
		names := []string{fmt.Sprint("a", round), fmt.Sprint("b", round), fmt.Sprint("c", round)}
		name := rapid.SampledFrom(names)
		resource := func(t *rapid.T) string {
			return fmt.Sprintf("file:///%d%s", round, rapid.SampledFrom([]string{"", "/x", "/x/y"}).Draw(t, "below"))
		}
		compare := func(db *DB, key, resource, binding string) {
			s, taints, questions := db.remembered(t, key, resource, binding)
			s2, taints2, questions2 := db.proved(t, key, resource, binding)
			if !s.Label.Equal(s2.Label) || s.Calls != s2.Calls || s.Parent != s2.Parent || s.there != s2.there || s.Created != s2.Created || s.Seen != s2.Seen {
				t.Fatalf("session %+v, proved %+v", s, s2)
			}
			values, err := db.valuesOf(t.Context(), "p", key)
			values2, rows, err2 := valueRows(t.Context(), &db.reads, key)
			if err := errors.Join(err, err2); err != nil || len(rows) != len(values) || len(values) > 0 && !reflect.DeepEqual(values, values2) {
				t.Fatalf("values %+v, in the database %+v, %v", values, values2, err)
			}
			if fmt.Sprint(taints) != fmt.Sprint(taints2) || len(questions) != len(questions2) || len(questions) > 0 && !reflect.DeepEqual(questions, questions2) {
				t.Fatalf("%+v, proved %+v\n%+v, proved %+v", taints, taints2, questions, questions2)
			}
		}
		ops := []func(db *DB, key string) error{
			func(db *DB, key string) error {
				_, _, err := db.Open(t.Context(), store.Ref{Key: key, Principal: "p"}, store.Limits{})
				return err
			},
			func(db *DB, key string) error {
				parent := name.Draw(t, "parent")
				_, _, err := db.Open(t.Context(), store.Ref{Key: key, Principal: "p", Parent: parent}, store.Limits{})
				return err
			},
			func(db *DB, key string) error {
				_, _, err := db.Join(t.Context(), key, label.Label{Untrusted: true, Attribution: label.SetOf("mcp://x/" + name.Draw(t, "by"))}, store.Limits{})
				return err
			},
			func(db *DB, key string) error { _, err := db.Count(t.Context(), key); return err },
			func(db *DB, key string) error {
				if err := db.Tally(t.Context(), key); err != nil {
					return err
				}
				return db.Flush(t.Context())
			},
			func(db *DB, key string) error {
				_, err := db.Log().Append(t.Context(), []audit.Entry{{Time: time.Now(), Chain: key, Kind: "decision", Body: []byte(`{"v":1}`)}})
				return err
			},
			func(db *DB, key string) error {
				_, err := db.Lower(t.Context(), key, label.Label{Untrusted: true})
				return err
			},
			func(db *DB, key string) error { _, err := db.End(t.Context(), key); return err },
			func(db *DB, _ string) error {
				_, err := db.Taint(t.Context(), store.Taint{Resource: resource(t), Label: label.Label{Private: true}}, store.Limits{})
				return err
			},
			func(db *DB, _ string) error { _, err := db.Clear(t.Context(), resource(t)); return err },
			func(db *DB, key string) error {
				return db.Ask(t.Context(), store.Question{ID: fmt.Sprint(key, time.Now().UnixNano()), Principal: "p", Session: key, Binding: key,
					Expires: time.Now().Add(time.Hour)})
			},
			func(db *DB, key string) error {
				all, err := db.boundNow(t.Context(), key)
				for _, q := range all {
					_, err = db.Answer(t.Context(), q.ID, "p", store.Accepted)
				}
				return err
			},
			func(db *DB, key string) error { _, err := db.Redeem(t.Context(), key); return err },
			func(db *DB, key string) error {
				return db.Revalue(t.Context(), "p", key, func(all []store.Value) (c store.ValueChange, err error) {
					if len(all) > 1 {
						c.Gone = []string{all[0].ID}
					}
					c.Put = []store.Value{{ID: fmt.Sprint(key, time.Now().UnixNano()), Principal: "p", Session: key, Body: []byte(key)}}
					return c, nil
				})
			},
		}
		for range rapid.IntRange(1, 20).Draw(t, "ops") {
			which := rapid.IntRange(0, len(ops)-1).Draw(t, "op")
			_ = ops[which](rapid.SampledFrom(dbs).Draw(t, "by"), name.Draw(t, "key")) // some cannot be done
			compare(rapid.SampledFrom(dbs).Draw(t, "at"), name.Draw(t, "session"), resource(t), name.Draw(t, "binding"))
		}
	})
}

// A commit of somebody else is noticed, also right before or after one of this process that keeps remembered rows.
func TestRememberedRowsOfOthers(t *testing.T) {
	for between, mapped := range map[string]bool{"before": true, "after": true, "both": true, "before, asked": false, "after, asked": false} {
		t.Run(between, func(t *testing.T) {
			dir := t.TempDir()
			db := openFor(t, dir)
			if _, known := db.index.header(); !known && runtime.GOOS == "linux" {
				t.Fatal("the index of the write-ahead log is not mapped")
			}
			if !mapped { // SQLite is asked
				if err := db.index.close(); err != nil {
					t.Fatal(err)
				}
			}
			between, _, _ := strings.Cut(between, ",")
			raw, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "state.db")+"?_pragma=busy_timeout(10000)")
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			read := func() (store.Session, error) { return db.Get(t.Context(), "s") }
			write := func() { // without a read before it
				if _, err := db.Log().Append(t.Context(), []audit.Entry{{Time: time.Now(), Kind: "k"}}); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := db.Open(t.Context(), store.Ref{Key: "s", Principal: "p"}, store.Limits{}); err != nil {
				t.Fatal(err)
			}
			if _, err := read(); err != nil {
				t.Fatal(err)
			}
			write()
			write()
			if _, kept := db.recent.sessions.Get("s"); !kept && mapped && runtime.GOOS == "linux" {
				t.Fatal("the session is not remembered past commits of this process")
			}
			change := func() {
				if _, err := raw.ExecContext(t.Context(), `update session set label = '{"private":true}' where key = 's'`); err != nil {
					t.Fatal(err)
				}
			}
			if between != "after" {
				change()
			}
			write()
			if between != "before" {
				change()
			}
			if s, err := read(); !errors.Is(err, store.ErrState) {
				t.Fatalf("%+v, %v of a row that was changed", s, err)
			}
		})
	}
}

// The reads of one decision see what it has written itself, also if another process commits meanwhile.
func TestTogether(t *testing.T) {
	for _, mapped := range []bool{true, false} {
		for _, meanwhile := range []bool{true, false} {
			t.Run(fmt.Sprint(mapped, meanwhile), func(t *testing.T) {
				dir := t.TempDir()
				db, other := openFor(t, dir), openFor(t, dir)
				if !mapped {
					if err := db.index.close(); err != nil {
						t.Fatal(err)
					}
				}
				for i := range 3 {
					ctx, key := store.Together(t.Context()), fmt.Sprint("s", i)
					if _, err := db.Get(ctx, key); !errors.Is(err, store.ErrNotFound) {
						t.Fatalf("%v of a session that nobody has opened", err)
					}
					if meanwhile {
						if _, err := other.Log().Append(t.Context(), []audit.Entry{{Time: time.Now(), Kind: "k"}}); err != nil {
							t.Fatal(err)
						}
					}
					if _, _, err := db.Open(ctx, store.Ref{Key: key, Principal: "p"}, store.Limits{}); err != nil {
						t.Fatal(err)
					}
					if _, err := db.Get(ctx, key); err != nil {
						t.Fatal(err)
					}
					if _, _, err := db.Join(ctx, key, label.Label{Private: true}, store.Limits{}); err != nil {
						t.Fatal(err)
					}
					if s, err := db.Get(ctx, key); err != nil || !s.Label.Private {
						t.Fatalf("%+v, %v after it was raised", s, err)
					}
				}
			})
		}
	}
}

// Remembered rows count no longer if the log has come further than the database shows: it was set back.
func TestRememberedRowsOfThePast(t *testing.T) {
	dir := t.TempDir()
	db := openFor(t, dir)
	if _, _, err := db.Open(t.Context(), store.Ref{Key: "s", Principal: "p"}, store.Limits{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := db.Get(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
	}
	later := fmt.Sprintf("%020d %s\n", 1000, tlog.RecordHash(nil))
	if err := os.WriteFile(filepath.Join(dir, "anchor", "mark"), []byte(later), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := db.Get(t.Context(), "s"); !errors.Is(err, audit.ErrDamaged) {
		t.Fatalf("%+v, %v; want ErrDamaged", s, err)
	}
}
