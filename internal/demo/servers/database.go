package servers

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/label"
)

type statementArgument struct {
	Statement string `json:"statement" jsonschema:"one statement, such as SELECT * FROM tickets WHERE id = '7'"`
}

func registerDatabase(s *mcp.Server, dir string) (closer, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	db := &database{root: root}
	add(s, "query", "Read rows of the support database with SELECT.",
		func(_ context.Context, in statementArgument) (answer, error) {
			st, err := parse(in.Statement)
			if err != nil {
				return answer{}, err
			}
			if st.verb != "select" {
				return answer{}, errors.New("query only reads: use execute for UPDATE and DELETE")
			}
			text, err := db.query(st)
			return answer{text, notes{
				OpenWorld:   true, // customers write the rows
				Attribution: []string{"mcp://database.demo.example/" + st.table},
				Returns:     returns{label.Internal, sensitivity{label.PII}},
			}}, err
		})
	add(s, "execute", "Change rows of the support database with UPDATE or DELETE. There is no undo.",
		func(_ context.Context, in statementArgument) (answer, error) {
			st, err := parse(in.Statement)
			if err != nil {
				return answer{}, err
			}
			if st.verb == "select" {
				return answer{}, errors.New("execute only changes: use query for SELECT")
			}
			n, err := db.execute(st)
			if err != nil {
				return answer{}, err
			}
			return done("%d rows changed", n), nil
		})
	return root.Close, nil
}

// A Table is the content of one file of the database.
type Table struct {
	Columns []string
	Rows    [][]string // each as long as Columns
}

// ReadTable returns the named table of the database server whose directory is dir.
func ReadTable(dir, name string) (Table, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Table{}, err
	}
	t, err := (&database{root: root}).load(name)
	return t, errors.Join(err, root.Close())
}

// database keeps each table in a CSV file whose first line names the columns.
type database struct {
	mu   sync.Mutex
	root *os.Root
}

func (db *database) load(table string) (Table, error) {
	data, err := db.root.ReadFile(table + ".csv")
	if errors.Is(err, os.ErrNotExist) {
		return Table{}, fmt.Errorf("no table %q", table)
	}
	if err != nil {
		return Table{}, err
	}
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return Table{}, fmt.Errorf("reading table %q: %w", table, err)
	}
	if len(records) == 0 {
		return Table{}, fmt.Errorf("reading table %q: no columns", table)
	}
	return Table{records[0], records[1:]}, nil
}

func (db *database) save(name string, t Table) error {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(append([][]string{t.Columns}, t.Rows...)); err != nil {
		return err
	}
	return db.root.WriteFile(name+".csv", b.Bytes(), 0o600)
}

// query returns the rows as text, a line for each column, an empty line between rows.
func (db *database) query(st statement) (string, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	t, err := db.load(st.table)
	if err != nil {
		return "", err
	}
	matches, err := t.matcher(st.where)
	if err != nil {
		return "", err
	}
	var rows []string
	for _, row := range t.Rows {
		if !matches(row) {
			continue
		}
		var b strings.Builder
		for i, column := range t.Columns {
			fmt.Fprintf(&b, "%s: %s\n", column, row[i])
		}
		rows = append(rows, b.String())
	}
	return strings.Join(rows, "\n"), nil
}

// execute changes the table and returns how many rows it touched.
func (db *database) execute(st statement) (int, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	t, err := db.load(st.table)
	if err != nil {
		return 0, err
	}
	matches, err := t.matcher(st.where)
	if err != nil {
		return 0, err
	}
	n := 0
	if st.verb == "delete" {
		before := len(t.Rows)
		t.Rows = slices.DeleteFunc(t.Rows, matches)
		n = before - len(t.Rows)
	} else {
		column := slices.Index(t.Columns, st.set.column)
		if column < 0 {
			return 0, fmt.Errorf("no column %q", st.set.column)
		}
		for _, row := range t.Rows {
			if matches(row) {
				row[column] = st.set.value
				n++
			}
		}
	}
	return n, db.save(st.table, t)
}

// matcher returns the test for a condition; the zero condition holds for every row.
func (t Table) matcher(c condition) (func(row []string) bool, error) {
	if c == (condition{}) {
		return func([]string) bool { return true }, nil
	}
	column := slices.Index(t.Columns, c.column)
	if column < 0 {
		return nil, fmt.Errorf("no column %q", c.column)
	}
	return func(row []string) bool { return row[column] == c.value }, nil
}
