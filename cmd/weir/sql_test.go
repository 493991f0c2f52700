package main

import (
	"database/sql"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"
)

// runSQL is "sql FILE STATEMENT…": it changes a database as another program would that can write to its file.
func runSQL(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0])+"?mode=rw&_pragma=busy_timeout(10000)")
	ts.Check(err)
	defer db.Close()
	for _, statement := range args[1:] {
		result, err := db.Exec(statement)
		ts.Check(err)
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			ts.Fatalf("%d rows were changed, %v", n, err)
		}
	}
}
