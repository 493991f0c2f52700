package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/console"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/record"
)

// Findings implements [console.Log]. Of a log with few findings the newest events are looked at.
func (v *ConsoleView) Findings(ctx context.Context, before int64, limit int) (all []console.Found, _ error) {
	q := audit.Query{To: before, Kind: string(record.Decision), Newest: true, Limit: MaxSearched}
	for row, err := range v.db.Log().Rows(ctx, q) {
		if err != nil {
			return nil, err
		}
		var e record.Event
		if row.Erased() || !bytes.Contains(row.Body, []byte(`"detection":`)) || json.Unmarshal(row.Body, &e) != nil {
			continue
		}
		found := FoundIn(row.Seq, &e)
		if all = append(all, found...); len(found) > 0 {
			if limit--; limit == 0 {
				break
			}
		}
	}
	return all, nil
}

// FoundIn returns the findings of an event.
func FoundIn(entry int64, e *record.Event) (all []console.Found) {
	if e.Content == nil || e.Content.Detection == nil {
		return nil
	}
	for i, f := range e.Content.Detection.Findings {
		one := console.Found{
			Entry: entry, Number: i + 1, Time: e.Time, Session: e.Session, Server: e.Server, Name: e.Name, Arguments: e.Phase == "call",
			Kind: f.Kind, Is: cmp.Or(f.Level, string(f.Class)), Confidence: f.Confidence, Path: f.Path, Size: f.Size, Exception: f.Exception,
		}
		if _, err := approve.ExceptionOf(e, i+1, false); err != nil {
			_, err = approve.ExceptionOf(e, i+1, true)
			if one.AnyValue = err == nil; err != nil {
				one.Refused = err.Error()
			}
		}
		if f.Exception != "" {
			one.Refused = ""
		}
		all = append(all, one)
	}
	return all
}

// Except implements [console.Actor].
func (v *ConsoleView) Except(ctx context.Context, x console.Exception) error {
	if strings.TrimSpace(x.Why) == "" {
		return errors.New("the log has to say why: give a reason")
	}
	e, err := EventAt(ctx, v.db, x.Entry)
	if err != nil {
		return err
	}
	out, err := approve.ExceptionOf(e, x.Number, x.AnyValue)
	if err != nil {
		return err
	}
	out.Entry, out.Why, out.By, out.Via = x.Entry, x.Why, v.env.Person(), "console"
	return approve.NewExceptions(v.db, v.ledger).Accept(ctx, out, DefaultException)
}
