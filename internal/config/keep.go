package config

import (
	"fmt"
)

// readDurability reads when events have to be on disk.
func readDurability(r reader, m member) {
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

// warnRelaxed warns of the loss that relaxed durability accepts.
func warnRelaxed(d *Draft) {
	if d.Config.Durability != Relaxed {
		return
	}
	d.Warn(d.Place(Pointer("durability")), "leave durability out, unless losing the newest evidence is acceptable",
		"durability: relaxed: if the machine or the database server fails, calls that went out may have no event, and labels that were acknowledged may be gone")
}

// readRetention reads how long things are kept.
func readRetention(r reader, m member) {
	keep := &r.d.Config.Retention
	r.object(m, fields{
		"sessions": r.days(&keep.Sessions), "labels": r.days(&keep.Labels), "events": r.days(&keep.Events), "content": r.days(&keep.Content),
		"size": r.bytes(func(n uint64) { keep.Size = int64(n) }, 1<<20, 1<<40),
	})
}
