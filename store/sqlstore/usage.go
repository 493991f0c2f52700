package sqlstore

import (
	"context"
	"database/sql"
	"time"
)

// Usage is how much a database holds.
type Usage struct {
	Schema    int       `json:"schema"` // the version of the schema
	Bytes     int64     `json:"bytes"`  // the size of the database
	Sessions  int64     `json:"sessions"`
	Questions int64     `json:"questions"`
	Pins      int64     `json:"pins"`
	Taints    int64     `json:"taints"`
	Entries   int64     `json:"entries"`
	Chains    int64     `json:"chains"`
	Captured  int64     `json:"captured"`       // entries beside which something is kept
	Beside    int64     `json:"captured_bytes"` // how long all of that is
	First     time.Time `json:"first,omitzero"` // when the first entry that is not erased was written
}

const readUsage = `select
	(select max(version) from schema), (select sessions from state), (select count(*) from question), (select count(*) from pin),
	(select count(*) from taint), (select size from state), (select count(*) from chain),
	(select count(*) from aside), (select coalesce(sum(length(body)), 0) from aside),
	coalesce((select time from entry where length(salt) > 0 order by seq limit 1), 0)`

// Usage returns how much the database holds.
func (d *DB) Usage(ctx context.Context) (u Usage, err error) {
	var first int64
	err = d.reads.query(ctx, readUsage, func(rows *sql.Rows) error {
		return rows.Scan(&u.Schema, &u.Sessions, &u.Questions, &u.Pins, &u.Taints, &u.Entries, &u.Chains, &u.Captured, &u.Beside, &first)
	})
	if err != nil {
		return Usage{}, err
	}
	u.First = fromMicros(first)
	err = d.reads.query(ctx, d.dialect.size, func(rows *sql.Rows) error { return rows.Scan(&u.Bytes) })
	return u, err
}

// Used returns how many bytes of an SQLite file are in use. Of a database server that is not known: ok is false.
func (d *DB) Used(ctx context.Context) (bytes int64, ok bool, err error) {
	if d.dialect.used == "" {
		return 0, false, nil
	}
	err = d.scans.query(ctx, d.dialect.used, func(rows *sql.Rows) error { return rows.Scan(&bytes) })
	return bytes, err == nil, err
}
