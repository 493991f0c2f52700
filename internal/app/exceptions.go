package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// DefaultException is how long an exception of detection counts.
const DefaultException = 90 * 24 * time.Hour

// contentsOf returns the parts of arguments and answers that events keep, and the search of these.
func contentsOf(s *setup.Setup, kept *state, d guard.Detection) guard.Contents {
	d.Exceptions = approve.NewExceptions(kept.backend, nil)
	c := s.Config.Capture
	return guard.Contents{Fields: c.Fields, Destinations: c.Destinations, All: c.Content, Detection: d}
}

// EventAt returns the event of an entry of the log.
func EventAt(ctx context.Context, db *sqlstore.DB, entry int64) (*record.Event, error) {
	for row, err := range db.Log().Rows(ctx, audit.Query{From: entry, To: entry + 1}) {
		if err != nil {
			return nil, err
		}
		if row.Erased() {
			return nil, remedy.Usage(fmt.Errorf("entry %d was erased", entry), "")
		}
		var e record.Event
		if err := json.Unmarshal(row.Body, &e); err != nil || e.V != record.Version {
			return nil, remedy.Usage(fmt.Errorf("entry %d is no event of this version", entry), "")
		}
		return &e, nil
	}
	return nil, remedy.Usage(fmt.Errorf("there is no entry %d", entry), "see weir audit show")
}

// ExceptionLines say what an exception is about, for a person who decides about it.
func ExceptionLines(x *approve.Excepted) []string {
	is := string(x.Kind)
	if x.Level != "" {
		is += ", level " + x.Level
	} else if x.Class != "" {
		is += ", class " + x.Class
	}
	part := "answers of"
	if x.Place.Phase == "call" {
		part = "arguments for"
	}
	value := "this one value only"
	switch {
	case x.AnyValue() && x.Call != "":
		value = "ANY instructions there, also of attackers, if the call has the same arguments"
	case x.AnyValue():
		value = "ANY value there, also secrets and instructions that nobody has seen yet"
	case x.Call != "":
		value = "this one text only, if the call has the same arguments"
	}
	return []string{
		fmt.Sprintf("rule: %s, %s confidence or less", plain.Text(is, MaxName), x.Confidence),
		fmt.Sprintf("place: %s %s of server %s, %s", part, plain.Quote(x.Place.Name, MaxName), plain.Quote(x.Place.Server, MaxName),
			"member "+plain.Quote(x.Path, MaxName)),
		"value: " + value,
	}
}
