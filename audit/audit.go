// Package audit keeps a log in which changes show: an append-only sequence of opaque entries under a Merkle tree, with
// signed checkpoints, held to an anchor that is kept apart from it.
//
//	anchor, err := audit.OpenAnchor("/home/alice/.local/share/weir/audit/x", "example.com/weir", nil) // made on first use
//	log, err := audit.Open(ctx, storage, anchor)
//	first, err := log.Storage().Append(ctx, []audit.Entry{{Chain: "session 1", Kind: "decision", Body: body}})
//	note, err := log.Checkpoint(ctx)                             // signed; give it to another party
//	report, err := audit.Verify(ctx, log.Storage(), audit.VerifyOptions{Anchor: anchor})
//
// # The log
//
// Entries have one order. An entry's number is its place in it, from 0. The tree does not hash the entry but its
// leaf, 97 bytes:
//
//	 0  version, 1
//	 1  the entry's number, 8 bytes, big endian
//	 9  its chain: 16 random bytes that stand for the chain's name
//	25  its position in the chain, 8 bytes, big endian, from 0
//	33  the record hash of the chain's leaf before, or 32 zero bytes
//	65  the digest of the entry: SHA-256 of a salt of 16 random bytes and the entry's fields
//
// So the entries of one chain, say of one agent session, hang together by themselves, and an entry can be erased, with
// its salt, while its leaf and every proof stay: the rest reveals nothing about the removed content.
//
// The fields are digested as the time in microseconds since 1970 (8 bytes, big endian), then chain, kind, subject,
// outcome and body, each after its length (4 bytes, big endian).
//
// The tree is that of RFC 6962, as package [golang.org/x/mod/sumdb/tlog] has it. Checkpoints are in the format
// c2sp.org/tlog-checkpoint, signed as c2sp.org/signed-note with Ed25519; [Log.Export] writes c2sp.org/tlog-tiles.
//
// # Promises
//
// With the [Anchor], [Verify] finds each changed bit, each entry that was removed, added or moved, and a log that is
// shorter than its anchor has seen it, and says where; and no log that does not extend its anchor is opened, appended
// to or signed. Between two checkpoints the head is held by a seal, an HMAC whose key is in the anchor. Without the
// anchor, Verify finds entries that do not fit together or is not signed by the key; a log that was cut off at an older
// checkpoint looks whole, which only a checkpoint that was kept elsewhere shows ([Extends]), and it says that it could
// not check that. With both the storage and the anchor, everything can be rewritten from the start.
//
// A [Storage] appends in one transaction, which may hold other things too: see [Sequence]. The package starts no
// goroutine. Its types may be used concurrently.
package audit

import (
	"context"
	"errors"
	"iter"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Errors that callers tell apart.
var (
	ErrInvalid = errors.New("invalid entry")
	ErrKey     = errors.New("the log is signed with another key")
	ErrRange   = errors.New("no such place in the log")
	ErrDamaged = errors.New("the log is damaged")
	ErrSigner  = errors.New("no checkpoint could be signed")
	ErrSealed  = errors.New("the log is sealed, and the key of its seal is not given")

	// ErrConflict is the error of a checkpoint that comes after another of the same log.
	ErrConflict = errors.New("another checkpoint was signed meanwhile")
)

// Bounds of an entry, in bytes.
const (
	MaxBody  = 16 << 20
	MaxAside = 32 << 20
	MaxWord  = 8 << 10 // chain, kind, subject, outcome
)

// An Entry is something to keep. Only the log's order and its time are the log's business; the rest is opaque. Chain,
// Kind, Subject and Outcome can be searched for.
type Entry struct {
	Time    time.Time // UTC, microseconds
	Chain   string    // its entries are linked
	Kind    string
	Subject string
	Outcome string
	Body    []byte

	// Aside is kept beside the entry and is no part of it: nothing is hashed of it, and it can be removed without a
	// trace. A digest in Body can tie the two together. See [Beside].
	Aside []byte
}

// A Row is an entry as it is kept, without its Aside. An erased one has neither Salt nor Entry.
type Row struct {
	Seq  int64 // its number
	Leaf []byte
	Salt []byte
	Entry
}

// Erased reports whether only the leaf is left.
func (r *Row) Erased() bool { return len(r.Salt) == 0 }

// A Query selects rows. Each zero member selects all.
type Query struct {
	From, To int64     // numbers, from From up to but without To; To 0 is the end
	Since    time.Time // not earlier than; like Before, it leaves out erased entries
	Before   time.Time // earlier than
	Chain    string
	Kind     string
	Subject  string
	Outcome  string
	Newest   bool // the newest first
	Limit    int
	Leaves   bool // of each row, Seq and Leaf are enough: the others may be left out
}

// A Node is the hash of a full subtree of the tree whose height is a multiple of 8: the hash with the number N at
// level 8·Level. Level is at least 1: leaves are hashed anew when they are needed.
type Node struct {
	Level int
	N     int64
	Hash  tlog.Hash
}

// A Checkpoint is a signed statement of the content of a log. Note is in the format c2sp.org/tlog-checkpoint.
type Checkpoint struct {
	Size int64
	Note []byte
}

// A Storage keeps a log. Each operation is atomic; an error means that it had no effect. An acknowledged write is
// durable and is seen by every operation that starts later, in every process.
type Storage interface {
	// Append adds the entries in this order and returns the number of the first. It uses [Sequence].
	Append(ctx context.Context, entries []Entry) (first int64, err error)

	// Head returns where the log ends.
	Head(ctx context.Context) (Head, error)

	// Rows iterates over the rows that the query selects, in order. An error ends the iteration.
	Rows(ctx context.Context, q Query) iter.Seq2[Row, error]

	// Nodes returns the nodes of a level, of at least 1, from the number from up to but without to, in order.
	Nodes(ctx context.Context, level int, from, to int64) ([]Node, error)
}

// Signed is the part of a Storage for checkpoints, and for the seal that holds its head between two of them.
type Signed interface {
	// AddCheckpoint keeps a checkpoint, also in the place of one of the same size, and makes it and all that was
	// appended before durable. Last is the newest that the caller knows; if another is there of its size or more, the
	// error is [ErrConflict].
	AddCheckpoint(ctx context.Context, c, last Checkpoint) error

	// Checkpoints iterates over the checkpoints with at least the given size, in order.
	Checkpoints(ctx context.Context, from int64) iter.Seq2[Checkpoint, error]

	// SealWith has every later Append check the head that it extends by [Anchor.Check], keep [Anchor.Seal] of the new
	// one with it, and call [Anchor.Committed] afterwards, whose error it returns although the entries are there.
	// Without an anchor, a head that has a seal is not extended: [ErrSealed].
	SealWith(*Anchor)
}

// Linked is the part of a Storage for chains.
type Linked interface {
	// Links iterates over the ends of all chains, by the chains' ids.
	Links(ctx context.Context) iter.Seq2[Link, error]
}

// Committed is a Storage whose head commits to the ends of its chains: see [Ends].
type Committed interface {
	// EndNodes iterates over the nodes that are kept, but for the root. An error ends the iteration.
	EndNodes(ctx context.Context) iter.Seq2[EndNode, error]
}

// Erasable is a Storage that can erase.
type Erasable interface {
	// Erase erases the entries with these numbers, with their asides, and appends the entry that tells of it: so the
	// ends of chains never change in a log of one size. A chain whose last entry is erased is closed: its name is
	// replaced by its id in hexadecimal, and the next entry begins another chain of that name. It returns the number of
	// entries that it erased; if there are none it appends nothing.
	Erase(ctx context.Context, seqs []int64, note func(n int64) Entry) (int64, error)
}

// Beside is the part of a Storage for asides, which are kept beside entries.
type Beside interface {
	// Aside returns the aside of the entry with the number; nil if there is none.
	Aside(ctx context.Context, seq int64) ([]byte, error)

	// Asides iterates over the numbers of the entries beside which something is kept and which are earlier than
	// before, in order; the zero time is all. The bodies are not read. An error ends the iteration.
	Asides(ctx context.Context, before time.Time) iter.Seq2[int64, error]

	// RemoveAsides removes the asides of the entries with these numbers, and returns how many had one.
	RemoveAsides(ctx context.Context, seqs []int64) (int64, error)
}

// Counted is a Storage that counts without handing out rows.
type Counted interface {
	// Count returns how many rows that are not erased the query selects, by their words; the most frequent first, then
	// by words. Limit bounds the counts, not the rows; Newest does not count.
	Count(ctx context.Context, q Query) ([]Count, error)
}

// A Count is how many rows have the same words.
type Count struct {
	Kind, Subject, Outcome string
	N                      int64
}

// Steady is a Storage that can be read while it grows.
type Steady interface {
	// Snapshot calls read with the log as it is at one time, for reading only, and returns its error.
	Snapshot(ctx context.Context, read func(Store) error) error
}

// Store is all that a [Log] needs of its storage.
type Store interface {
	Storage
	Signed
	Linked
	Erasable
	Beside
	Steady
}
