package sqlstore

import (
	"errors"
	"time"

	"github.com/weir-mcp/weir/audit"
)

// ErrSchema is the kind of error of a database with another schema than this program knows.
var ErrSchema = errors.New("the database has another schema")

// ErrClosed is the kind of error of a use after Close.
var ErrClosed = errors.New("the database is closed")

// Options are the options of [Open]. Nil means the zero value.
type Options struct {
	Now         func() time.Time // the clock; default time.Now
	MaxSessions int              // then new ones are refused; default 1,000,000
	Linger      time.Duration    // how long deferred writes may wait; default 50 ms
	Anchor      *audit.Anchor    // of the log, see [audit.Open]; nil: a log that has one cannot be appended to
	Untouched   bool             // nothing is written when it is opened, but the schema
	Readers     int              // connections that read at one time; default 8

	// Damaged is called once for each row of the state that is not as the log proves, beside the event of it. It must
	// not use the database. Nil: nobody is.
	Damaged func(error)

	// Unsynced commits without waiting for the disk. It is dangerous: a process that ends, however it does, loses
	// nothing, but if the machine does, or the database server, the newest transactions may be gone, though they were
	// acknowledged.
	Unsynced bool

	// Timeout is how long an operation may take: default 5 s. With its time in the queue of the writers it takes less
	// than twice that. Queries that read the log may take a minute, and those that add up all of it as long as they
	// need, as migrations may. Taking over the state of an older version and rebuilding it may take ten minutes.
	Timeout time.Duration

	Told     func(Health) // of each change of [DB.Health], in the course of an operation; it must not use the database; nil: nobody
	Existing bool         // a file that is not there is an error, and is not made
	ReadOnly bool         // never writes to it, nor makes or migrates anything: for whoever may read the files, also where they cannot be written
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = 1_000_000
	}
	if o.Linger <= 0 {
		o.Linger = 50 * time.Millisecond
	}
	if o.Readers <= 0 {
		o.Readers = 8
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	return o
}
