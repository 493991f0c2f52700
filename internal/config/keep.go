package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// A Durability is when an event has to be on disk. The zero Durability is Default.
type Durability string

// The durabilities.
const (
	DefaultDurability Durability = ""        // before a call that may change or send anything; those of plain reads soon after
	Strict            Durability = "strict"  // before every call and every result
	Relaxed           Durability = "relaxed" // soon: a machine that fails may lose the newest events and labels
)

// The defaults of how long things are kept.
const (
	DefaultKeepSessions = 90 * 24 * time.Hour
	DefaultKeepLabels   = 90 * 24 * time.Hour
	DefaultKeepContent  = 30 * 24 * time.Hour
	DefaultKeepEvents   = 396 * 24 * time.Hour // 13 months
	DefaultStoreSize    = 20 << 30             // bytes
)

// Retention is how long things are kept. Zero is forever.
type Retention struct {
	Sessions time.Duration // since they were last heard of
	Labels   time.Duration // of resources, since they were last written
	Events   time.Duration
	Content  time.Duration // what was captured
	Size     int64         // bytes of an SQLite store, beyond which the oldest events go
}

// durability reads when events have to be on disk.
func (r reader) durability(m member) {
	words := []string{"strict", "default", "relaxed"}
	r.word(m, words, func(s string) error {
		switch s {
		case "default":
			r.d.Config.Durability = DefaultDurability
		case string(Strict), string(Relaxed):
			r.d.Config.Durability = Durability(s)
		default:
			return fmt.Errorf("unknown durability %q", s)
		}
		return nil
	})
}

// warnRelaxed says what is given up.
func warnRelaxed(d *Draft) {
	if d.Config.Durability != Relaxed {
		return
	}
	d.Warn(d.Place(Pointer("durability")), "leave durability out, unless losing the newest evidence is acceptable",
		"durability: relaxed: if the machine or the database server fails, calls that went out may have no event, and labels that were acknowledged may be gone")
}

// retention reads how long things are kept.
func (r reader) retention(m member) {
	keep := &r.d.Config.Retention
	r.object(m, fields{
		"sessions": r.days(&keep.Sessions), "labels": r.days(&keep.Labels), "events": r.days(&keep.Events), "content": r.days(&keep.Content),
		"size": r.bytes(func(n uint64) { keep.Size = int64(n) }, 1<<20, 1<<40),
	})
}

const daysHint = "write days, 90d, or forever"

var days = regexp.MustCompile(`^([0-9]{1,5})d$`)

// ParseDays reads a number of days like 90d, 1 to 36500, or the word forever, which is 0.
func ParseDays(s string) (time.Duration, error) {
	if s == "forever" {
		return 0, nil
	}
	match := days.FindStringSubmatch(s)
	if match == nil {
		return 0, fmt.Errorf("bad number of days %.40q", s)
	}
	n, _ := strconv.Atoi(match[1]) // five digits
	if n < 1 || n > 36500 {
		return 0, fmt.Errorf("%s is out of range", s)
	}
	return time.Duration(n) * 24 * time.Hour, nil
}

func (r reader) days(p *time.Duration) func(member) {
	return func(m member) {
		s, ok := r.scalar(m, "a number of days, 90d, or forever")
		if !ok {
			return
		}
		d, err := ParseDays(s)
		if err != nil {
			r.d.Fault(m.at, daysHint, "%s: %v", m.name, err)
			return
		}
		*p = d
	}
}
