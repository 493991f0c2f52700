package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/capture"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/record"
)

// Captured returns the captured content of an event, if it has the digests that are in the event.
func Captured(e *record.Event, entry int64, parts capture.Parts) (arguments, answer json.RawMessage, err error) {
	if e.Content == nil {
		return nil, nil, fmt.Errorf("entry %d has no digests of content that is kept beside it", entry)
	}
	salt, err := hex.DecodeString(e.Content.Salt)
	if err != nil {
		return nil, nil, fmt.Errorf("entry %d: reading the salt: %w", entry, err)
	}
	for _, part := range []struct {
		name, digest string
		text         []byte
		to           *json.RawMessage
	}{{"arguments", e.Arguments, parts.Arguments, &arguments}, {"answer", e.Content.Answer, parts.Result, &answer}} {
		if len(part.text) == 0 {
			continue
		}
		sum := sha256.Sum256(append(salt[:len(salt):len(salt)], part.text...))
		if part.digest != "sha256:"+hex.EncodeToString(sum[:]) || !json.Valid(part.text) {
			return nil, nil, fmt.Errorf("entry %d: the captured %s has another digest than the event says", entry, part.name)
		}
		*part.to = part.text
	}
	return arguments, answer, nil
}

// Sizes of the text of a passage that a page shows, in bytes.
const (
	mostPassage   = 4 << 10
	besidePassage = 300
)

var passageScanner = sync.OnceValue(detect.New)

// Passage implements [console.Log]. No value is in it, neither of the finding nor of others.
func (v *ConsoleView) Passage(ctx context.Context, entry int64, number int) (out console.Passage, err error) {
	e, err := EventAt(ctx, v.db, entry)
	if err != nil {
		return out, err
	}
	found := FoundIn(entry, e)
	if number < 1 || number > len(found) {
		return out, fmt.Errorf("entry %d has no finding %d", entry, number)
	}
	out.Found = found[number-1]
	text, why, err := v.captured(ctx, entry, e)
	if out.Missing = why; err != nil || why != "" {
		return out, err
	}
	if e.Phase == "call" && e.Content.Detection.Changed {
		out.Missing = "it is in the text as the agent wrote it, and the call went out, and is kept, without it"
		return out, nil
	}
	all := e.Content.Detection.Findings
	f := all[number-1]
	start, end := f.Offset, f.Offset+f.Size
	if start < 0 || end < start || end > len(text) {
		return out, fmt.Errorf("entry %d: finding %d is outside of the captured text", entry, number)
	}
	report := passageScanner().Scan(text, detect.JSON, nil)
	if report.Cut {
		out.Missing = "not all values in the text could be found, so that none of it is shown"
		return out, nil
	}
	hidden := slices.DeleteFunc(report.Findings, func(f detect.Finding) bool { return f.Class == detect.Injection })
	for _, f := range all {
		if f.Level == "" {
			hidden = append(hidden, detect.Finding{Kind: detect.Kind(f.Kind), ValueOffset: f.Offset, ValueSize: f.Size})
		}
	}
	copies, ok := detect.Copies(text, detect.JSON, hidden)
	if hidden = append(hidden, copies...); !ok {
		out.Missing = "not all copies of values in the text could be found, so that none of it is shown"
		return out, nil
	}
	show := func(from, to int) string { return detect.Excerpt(text, hidden, from, to) }
	cut := min(end, start+mostPassage)
	out.Before, out.Text, out.After = show(start-besidePassage, start), show(start, cut), show(end, end+besidePassage)
	if cut < end {
		out.Text += "…"
	}
	return out, nil
}

// captured returns the text that an event's findings are in, or why there is none.
func (v *ConsoleView) captured(ctx context.Context, entry int64, e *record.Event) (text []byte, why string, err error) {
	sealed, err := v.db.Log().Aside(ctx, entry)
	if err != nil {
		return nil, "", err
	}
	if sealed == nil {
		return nil, "its text is not kept: capture.content has it captured from then on, unless it is erased", nil
	}
	path, err := v.env.CapturePath(v.place)
	if err != nil {
		return nil, "", err
	}
	key, err := capture.ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "its text is kept for the holders of other identities: weir audit show " + fmt.Sprint(entry) + " --content --identity FILE", nil
	}
	if err != nil {
		return nil, "", err
	}
	parts, err := key.Open(sealed)
	if err != nil {
		return nil, "", err
	}
	arguments, answer, err := Captured(e, entry, parts)
	if err != nil {
		return nil, "", err
	}
	if text = answer; e.Phase == "call" {
		text = arguments
	}
	if text == nil {
		return nil, "its text was too long to be captured", nil
	}
	return text, "", nil
}
