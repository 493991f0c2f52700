package sqlread_test

import (
	"os"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/sqlread"
)

// statements returns the statements of a corpus, one a line.
func statements(tb testing.TB, name string) []string {
	tb.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// TestReadOnly reads the corpora: everyday queries of users and agents are read-only, and attackers' statements are
// not.
func TestReadOnly(t *testing.T) {
	r := new(sqlread.Reader)
	for _, dialect := range sqlread.Dialects() {
		for file, want := range map[string]bool{".reads.sql": true, ".acts.sql": false} {
			for _, s := range statements(t, dialect+file) {
				if got := r.ReadOnly(s, dialect); got != want {
					t.Errorf("%s: %s: %v", dialect, s, got)
				}
			}
		}
		for _, s := range []string{
			"", " ", ";", "--", "/*", "select 1\x00; drop table users", "select 1 /\x00* */", "select '\xff'", "select \u00a01", "select 1\x0b", "SELECT\f1",
			"select " + strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100), "select " + strings.Repeat("not ", 5000) + "true",
			"select 1" + strings.Repeat(" union select 1", 900), "select 1" + strings.Repeat("+1", 9000), "select '" + strings.Repeat("a", 20000) + "'",
			"select " + strings.Repeat("case when ", 300) + "1", "select 1" + strings.Repeat("::int", 3000), "select " + strings.Repeat("- ", 3000) + "1",
		} {
			if r.ReadOnly(s, dialect) {
				t.Errorf("%s: %.60q only reads", dialect, s)
			}
		}
		for _, s := range []string{"select 1"} {
			if !r.ReadOnly(s, dialect) {
				t.Errorf("%s: after all that %q does not read", dialect, s)
			}
		}
	}
	for _, dialect := range []string{"", "postgres", "PostgreSQL", "oracle", "tsql", "clickhouse", "bigquery", "snowflake"} {
		if r.ReadOnly("select 1", dialect) {
			t.Errorf("the dialect %q is known", dialect)
		}
	}
}

// TestDepth gives parsers the deepest statements that the limits allow: they answer, and go on answering.
func TestDepth(t *testing.T) {
	r := new(sqlread.Reader)
	deep := func(before, middle, after string, n int) string {
		return "select " + strings.Repeat(before, n) + middle + strings.Repeat(after, n)
	}
	for _, dialect := range sqlread.Dialects() {
		for _, s := range []string{
			deep("(select ", "1", ")", 25), deep("(select (select 1 from t where a = not ", "1", ")) ", 12), deep("not ", "true", "", 200), deep("- ", "1", "", 200),
			deep("", "1", " + 1", 200), deep("", "1", " union select 1", 200), deep("case when a then b else ", "1", " end", 200),
			"select 1 from " + strings.Repeat("(select 1 from ", 25) + "t" + strings.Repeat(") a", 25), "select 1 from a" + strings.Repeat(" join b on true", 200),
			deep("coalesce(", strings.Repeat("not ", 100)+"1"+strings.Repeat(" + 1", 75), ")", 25), deep("1 = ", "1", "", 200), deep("", "1", "::int", 100),
			deep("(1 + (select case when ", "1", " then 1 end))", 12), "select 1 where a" + strings.Repeat(" and b or c", 100),
		} {
			r.ReadOnly(s, dialect)
		}
		if !r.ReadOnly("select 1", dialect) {
			t.Errorf("the parser of %s does not answer any more", dialect)
		}
	}
}

func FuzzReadOnly(f *testing.F) {
	for _, dialect := range sqlread.Dialects() {
		for _, s := range append(statements(f, dialect+".reads.sql"), statements(f, dialect+".acts.sql")...) {
			f.Add(s)
		}
	}
	r := new(sqlread.Reader)
	f.Fuzz(func(t *testing.T, s string) {
		for _, dialect := range sqlread.Dialects() {
			if !r.ReadOnly(s, dialect) {
				continue
			}
			for _, name := range []string{"pg_read_file", "writefile", "load_file", "dblink", "nextval", "/*!"} {
				if strings.Contains(strings.ToLower(s), name+"(") {
					t.Errorf("%s: %q only reads", dialect, s)
				}
			}
		}
	})
}

func BenchmarkReadOnly(b *testing.B) {
	r := new(sqlread.Reader)
	for _, dialect := range sqlread.Dialects() {
		r.ReadOnly("select 1", dialect)
		b.Run(dialect, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.ReadOnly("select a, b from t join u using (id) where c = 'x' and d in (1, 2, 3) order by a -- done", dialect)
			}
		})
	}
}
