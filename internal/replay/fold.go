// Package replay computes the state from the log, and compares the two.
//
//	fold := replay.New()
//	for row, err := range log.Rows(ctx, audit.Query{}) { … fold.Add(&row) }
//	report, err := replay.Verify(ctx, log)
//
// A store writes an event for each row of its state that changes, in the same transaction (see [record.State]). So a
// row is as the last event of it says, and the state is a cache of the log: [Fold.Rows] is all of it. The package does
// no I/O of its own, and its types are for one goroutine.
package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/record"
)

// A Row is a row of the state, and the entry that proves it.
type Row struct {
	record.Kept
	Entry int64
}

// An id names a row.
type id struct{ table, key string }

// A Fold is the state that a log proves, as far as it was read. Make one with [New].
type Fold struct {
	rows     map[id]Row
	lowered  map[string]int64 // by session: the last entry by which a person lowered its label
	heard    map[string]heard // by chain: its last entry
	counted  map[string]calls // by session: how many it has made
	children map[string]int   // by session: how many there are that descend from it directly
	erased   []int64          // entries of which only the leaf is left
	named    record.Ranges    // entries that events of erasures name, in no order
	Proves   bool             // the log tells of the state at all: a newer version wrote it, or took it over
	Findings []Finding
}

// New returns the fold of an empty log.
func New() *Fold {
	return &Fold{rows: map[id]Row{}, lowered: map[string]int64{}, heard: map[string]heard{}, counted: map[string]calls{}, children: map[string]int{}}
}

// heard is an entry and its time.
type heard struct {
	seq int64
	at  int64
}

// calls are how many calls a session has made, by the last entry that tells it.
type calls struct{ seq, n int64 }

// Add adds the next entry of the log. Package audit checks the entry against its leaf.
func (f *Fold) Add(r *audit.Row) {
	switch {
	case r.Erased():
		f.erased = append(f.erased, r.Seq)
	case r.Kind == string(record.StateRow):
		f.Proves = true
		f.state(r)
	case r.Kind == string(record.Erase):
		f.erasure(r)
	case r.Kind == string(record.Declassify):
		var e record.Event
		if json.Unmarshal(r.Body, &e) == nil && e.Session != "" {
			f.lowered[e.Session] = r.Seq
		}
	}
	if !r.Erased() {
		f.heard[r.Chain] = heard{r.Seq, r.Time.UnixMicro()}
	}
	if r.Kind != string(record.StateRow) {
		f.count(r.Chain, r)
	}
}

// count notes the calls of a session, as an entry tells them.
func (f *Fold) count(key string, r *audit.Row) {
	n, ok := record.CallsOf(r.Body)
	if !ok {
		return
	}
	if before := f.counted[key]; n < before.n {
		f.find(Finding{record.SessionTable, key, r.Seq, fmt.Sprintf("it has %d calls, fewer than the %d that entry %d tells", n, before.n, before.seq)})
	}
	f.counted[key] = calls{r.Seq, n}
}

func (f *Fold) state(r *audit.Row) {
	s, err := record.ParseState(r.Body)
	if err != nil {
		f.find(Finding{Entry: r.Seq, What: err.Error()})
		return
	}
	name := id{s.Table, s.Key}
	before, known := f.rows[name]
	if known && before.Live(r.Time.UnixMicro()) && s.Gone == "" && s.Table != record.QuestionTable && !s.Label.Covers(before.Label) && !f.mayLower(before) {
		f.find(Finding{s.Table, s.Key, r.Seq, fmt.Sprintf("its label is lower than entry %d says, and no person lowered it", before.Entry)})
	}
	if s.Gone == record.Expired {
		f.expired(&s, r)
	}
	if s.Table == record.SessionTable {
		if before.Gone != "" { // another session has the name now
			delete(f.counted, s.Key)
		}
		f.count(s.Key, r)
		if known && before.Gone == "" {
			f.children[before.Parent]--
		}
		if s.Gone == "" {
			f.children[s.Parent]++
		}
	}
	f.rows[name] = Row{s, r.Seq}
}

// expired finds rows that were removed as too old before they were, by the log's times.
func (f *Fold) expired(s *record.Kept, r *audit.Row) {
	before := f.rows[id{s.Table, s.Key}]
	switch s.Table {
	case record.TaintTable:
		if before.Live(r.Time.UnixMicro()) {
			f.find(Finding{s.Table, s.Key, r.Seq, fmt.Sprintf("it was removed as expired before it was, by entry %d", before.Entry)})
		}
	case record.SessionTable:
		if f.children[s.Key] > 0 {
			f.find(Finding{s.Table, s.Key, r.Seq, "it was removed as too old before those that descend from it"})
		}
		for _, chain := range [...]string{s.Key, s.Chain()} {
			if last, ok := f.heard[chain]; ok && s.Expires > 0 && last.at >= s.Expires {
				f.find(Finding{s.Table, s.Key, r.Seq, fmt.Sprintf("it was removed as too old, and entry %d tells of it later", last.seq)})
			}
		}
	}
}

// mayLower reports whether a person has lowered the session, or one that it descends from, since its row was written.
func (f *Fold) mayLower(s Row) bool {
	since := s.Entry
	for range maxDepth {
		if seq, ok := f.lowered[s.Session]; ok && seq > since {
			return true
		}
		parent, ok := f.rows[id{record.SessionTable, s.Parent}]
		if !ok || s.Parent == "" {
			return false
		}
		s = parent
	}
	return false
}

// maxDepth bounds how far up a session is followed, if a log has a cycle.
const maxDepth = 1000

func (f *Fold) erasure(r *audit.Row) {
	var e record.Event
	if json.Unmarshal(r.Body, &e) != nil {
		return
	}
	if r.Outcome == "adopted" {
		if f.Proves { // adoption happens once: a second one could hide an erasure
			f.find(Finding{Entry: r.Seq, What: "it takes over state that the log told of before"})
			return
		}
		f.Proves = true
	}
	ranges, err := record.ParseRanges(e.Binding)
	if err != nil {
		f.find(Finding{Entry: r.Seq, What: "its list of erased entries is malformed: " + err.Error()})
		return
	}
	for _, run := range ranges {
		if run[1] >= r.Seq { // an erasure cannot name later entries
			f.find(Finding{Entry: r.Seq, What: fmt.Sprintf("it says that it erases entry %d, which is not before it", run[1])})
			continue
		}
		f.named = append(f.named, run)
	}
}

// unnamed returns the entries that are erased without an event that says so.
func (f *Fold) unnamed() record.Ranges {
	slices.SortFunc(f.named, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	var union record.Ranges
	for _, run := range f.named {
		if last := len(union) - 1; last >= 0 && run[0] <= union[last][1]+1 {
			union[last][1] = max(union[last][1], run[1])
			continue
		}
		union = append(union, run)
	}
	return record.RangesOf(slices.DeleteFunc(slices.Clone(f.erased), union.Has))
}

// Rows returns the rows that exist according to the log, by table and key. It includes rows that may have expired
// since.
func (f *Fold) Rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for _, name := range slices.SortedFunc(maps.Keys(f.rows), func(a, b id) int {
			return strings.Compare(a.table+"\x00"+a.key, b.table+"\x00"+b.key)
		}) {
			if r := f.rows[name]; r.Gone == "" && !yield(r) {
				return
			}
		}
	}
}

// Sound returns an error if the log contradicts itself, or has empty entries that no erasure names: it proves nothing
// then.
func (f *Fold) Sound() error {
	switch unnamed := f.unnamed(); {
	case !f.Proves:
		return errors.New("the log does not prove the state")
	case len(f.Findings) > 0:
		return fmt.Errorf("entry %d: %s", f.Findings[0].Entry, f.Findings[0].What)
	case len(unnamed) > 0:
		return fmt.Errorf("entry %d is empty, and no erasure names it", unnamed[0][0])
	}
	return nil
}

// A Finding is something that is not as the log proves.
type Finding struct {
	Table string `json:"table,omitempty"`
	Key   string `json:"key,omitempty"`
	Entry int64  `json:"entry"` // that proves it, or that is wrong itself; -1 if there is none
	What  string `json:"what"`
}

func (f *Fold) find(found Finding) { f.Findings = append(f.Findings, found) }
