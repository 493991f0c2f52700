package sqlstore

import (
	"context"
	"database/sql"
	"time"
)

// A clock that is wrong by months must not have labels expire, nor have retention remove them. The log tells whether a time is believed: if
// it has an entry of more than a day before, and none of those is newer than a month before, then the clock was set ahead, or no weir
// ran for that long. After a day at that time, it is believed.
const (
	believedAfter = 24 * time.Hour
	longestPause  = 30 * 24 * time.Hour
)

// readOlder reads the time of the newest entry that is older than a time.
const readOlder = `select time from entry where time > 0 and time < $1 order by seq desc limit 1`

// Believed returns the time now, or the last one before it that is to be believed.
func (d *DB) Believed(ctx context.Context, now time.Time) (time.Time, error) {
	older := int64(0)
	err := d.scans.query(ctx, readOlder, func(rows *sql.Rows) error { return rows.Scan(&older) }, micros(now.Add(-believedAfter)))
	if err != nil || older == 0 || !fromMicros(older).Before(now.Add(-longestPause)) {
		return now, err
	}
	return fromMicros(older), nil
}

// A steady clock goes on as the monotonic clock of the process does, from a time that is believed.
type steady struct{ began, believed time.Time }

// At returns the time at which labels expire: never later than the machine's clock.
func (s *steady) At(now time.Time) time.Time {
	at := s.believed.Add(now.Sub(s.began)).UTC().Truncate(time.Microsecond)
	if now.Before(at) {
		return now.UTC().Truncate(time.Microsecond)
	}
	return at
}

// steady returns the time at which labels expire, not later than that of the events of the transaction.
func (u *unit) steady() time.Time {
	if at := u.db.steady.At(u.db.opts.Now()); at.Before(u.now()) {
		return at
	}
	return u.now()
}
