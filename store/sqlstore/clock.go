package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"time"
)

// A clock that is wrong by months must not have labels expire, nor have retention remove them. The log tells whether a
// time is believed: if the newest of its entries of more than a day before is older than a month before, then the clock
// was set ahead, or no weir ran for that long. After a day at that time, it is believed.
const (
	believedAfter = 24 * time.Hour
	longestPause  = 30 * 24 * time.Hour
)

const (
	// readNewest reads the number of the newest entry, and number and time of the newest of the last 256 that is older
	// than a time.
	readNewest = `select coalesce((select max(seq) from entry), -1), coalesce(max(seq), -1), coalesce(max(time), 0) from (select seq, time from
(select seq, time from entry order by seq desc limit 256) as newest where time > 0 and time < $1 order by seq desc limit 1) as older`
	newest = 256

	readTimes = `select seq, time from entry where seq in %s`

	// readOlder reads the time of the newest entry before one that is older than a time, going through all in between.
	readOlder = `select time from entry where seq < $1 and time > 0 and time < $2 order by seq desc limit 1`
)

// believed returns the time now, or the last one before it that is to be believed.
func believed(ctx context.Context, log *statements, now time.Time) (time.Time, error) {
	than := micros(now.Add(-believedAfter))
	after, older, err := newestOlder(ctx, log, than)
	if err == nil && older == 0 && after > 0 {
		err = log.query(ctx, readOlder, func(rows *sql.Rows) error { return rows.Scan(&older) }, after, than)
	}
	if err != nil || older == 0 || !fromMicros(older).Before(now.Add(-longestPause)) {
		return now, err
	}
	return fromMicros(older), nil
}

// Until returns the number that those of the entries from before a time are less than. It looks at some entries alone:
// where clocks were set back, older ones may follow. Before that number may be any.
func (l *Log) Until(ctx context.Context, before time.Time) (int64, error) {
	after, _, err := newestOlder(ctx, l.reads, micros(before))
	return after, err
}

// newestOlder is searchOlder in the log, in which the newest entries are all looked at.
func newestOlder(ctx context.Context, log *statements, than int64) (after, older int64, err error) {
	var last, found int64
	err = log.query(ctx, readNewest, func(rows *sql.Rows) error { return rows.Scan(&last, &found, &older) }, than)
	if err != nil || older > 0 {
		return found + 1, older, err
	}
	return searchOlder(max(0, last+1-newest), than, func(places []int64) (map[int64]int64, error) {
		times := make(map[int64]int64, len(places))
		err := among(ctx, log, readTimes, places, func(rows *sql.Rows) error {
			var seq, at int64
			err := rows.Scan(&seq, &at)
			times[seq] = at
			return err
		})
		return times, err
	})
}

// searchOlder returns the time of the newest entry before a place that is older than a time, of those that it looks at,
// and the place of the next. The time is zero if that entry is erased: any older ones are before it. Both are zero if
// there is none. Look returns the times of entries by their places; that of an erased one is zero.
//
// Entries have the order of their times, but for clocks that were set back or differ. So it looks at few: some at the
// same distance from each other, and some at twice the distance from the end each. One in between counts for nothing.
func searchOlder(end, than int64, look func(places []int64) (map[int64]int64, error)) (after, older int64, err error) {
	for begin := int64(0); begin < end; {
		places := placesOf(begin, end)
		times, err := look(places)
		if err != nil {
			return 0, 0, err
		}
		i := slices.IndexFunc(places, func(at int64) bool { return times[at] < than })
		if i < 0 {
			end = begin // the first of these is not older
			break
		}
		if i > 0 {
			end = places[i-1]
		}
		begin, older = places[i]+1, max(times[places[i]], 0)
	}
	return end, older, nil
}

// placesOf returns 64 places at most from begin up to but without end, the last one first. The first is one of them.
func placesOf(begin, end int64) []int64 {
	const even = 32
	places := make([]int64, 0, 2*even)
	for i := range int64(even) {
		places = append(places, begin+(end-begin)*i/even)
	}
	for step := int64(1); step <= end-begin && step < 1<<even; step *= 2 {
		places = append(places, end-step)
	}
	slices.Sort(places)
	places = slices.Compact(places)
	slices.Reverse(places)
	return places
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
