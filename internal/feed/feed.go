// Package feed writes events of package record in the words of other systems, one a line: as they are (JSON Lines), as
// CEF, as OCSF and as OpenTelemetry logs.
//
//	write, ok := feed.Format("ocsf")
//	line, err := write(feed.Item{Seq: 7, Event: e, Raw: raw})
//
// Names and messages of a server stay inside their fields: each format's own escapes are used.
package feed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/record"
)

// An Item is an event with its number in the log and its own JSON.
type Item struct {
	Seq   int64
	Event *record.Event
	Raw   json.RawMessage
}

// A Writer returns an item as a line, without a newline.
type Writer func(Item) ([]byte, error)

// Formats are the names of the formats.
var formats = map[string]Writer{"jsonl": lines, "cef": cef, "ocsf": ocsf, "otlp": otlp}

// Formats returns the names of the formats.
func Formats() []string { return []string{"jsonl", "cef", "ocsf", "otlp"} }

// Format returns the writer of a format.
func Format(name string) (Writer, bool) {
	w, ok := formats[name]
	return w, ok
}

// lines writes the event as it is.
func lines(it Item) ([]byte, error) {
	var b bytes.Buffer
	err := json.Compact(&b, it.Raw)
	return b.Bytes(), err
}

// severity says how much an event deserves a look: 0 routine, 1 notable, 2 denied or wrong.
func severity(e *record.Event) int {
	switch e.Effect {
	case "block", "declined", "expired", "failed":
		return 2
	case "ask", "warn":
		return 1
	}
	if e.Kind == record.Defect || e.Kind == record.Declassify {
		return 1
	}
	return 0
}

// title describes the event in a few words.
func title(e *record.Event) string {
	t := string(e.Kind)
	if e.Effect != "" {
		t += " " + e.Effect
	}
	if e.Name != "" {
		t += " " + e.Server + "/" + e.Name
	}
	return t
}

// cef writes ArcSight's Common Event Format, version 0.
func cef(it Item) ([]byte, error) {
	e := it.Event
	header := func(s string) string {
		return strings.NewReplacer(`\`, `\\`, `|`, `\|`, "\n", " ", "\r", " ").Replace(s)
	}
	value := func(s string) string {
		return strings.NewReplacer(`\`, `\\`, `=`, `\=`, "\n", `\n`, "\r", `\r`).Replace(s)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "CEF:0|Weir|weir|%d|%s|%s|%d|", e.V, header(string(e.Kind)), header(title(e)), [...]int{2, 5, 8}[severity(e)])
	fmt.Fprintf(&b, "rt=%d externalId=%s", e.Time.UnixMilli(), value(e.ID))
	for _, f := range [...]struct{ name, value string }{
		{"suser", e.Principal}, {"act", e.Effect}, {"dhost", e.Server}, {"requestMethod", e.Method}, {"request", e.Name},
		{"msg", e.Message}, {"reason", e.Rule},
	} {
		if f.value != "" {
			fmt.Fprintf(&b, " %s=%s", f.name, value(f.value))
		}
	}
	for i, f := range [...]struct{ name, value string }{
		{"session", e.Session}, {"call", e.Call}, {"phase", e.Phase}, {"arguments", e.Arguments}, {"label", labelText(e)},
		{"facts", string(e.Facts)},
	} {
		if f.value != "" {
			fmt.Fprintf(&b, " cs%dLabel=%s cs%d=%s", i+1, f.name, i+1, value(f.value))
		}
	}
	fmt.Fprintf(&b, " cn1Label=entry cn1=%d", it.Seq)
	return b.Bytes(), nil
}

func labelText(e *record.Event) string {
	if e.Label == nil || e.Label.IsZero() {
		return ""
	}
	b, err := json.Marshal(e.Label)
	if err != nil {
		return ""
	}
	return string(b)
}

type object = map[string]any

// ocsf writes the class API Activity (6003) of the Open Cybersecurity Schema Framework, version 1.3.0, with the profile
// security_control where something was decided.
func ocsf(it Item) ([]byte, error) {
	e := it.Event
	out := object{
		"category_uid": 6, "category_name": "Application Activity", "class_uid": 6003, "class_name": "API Activity",
		"activity_id": 99, "activity_name": title(e), "type_uid": 600399, "time": e.Time.UnixMilli(),
		"severity_id": [...]int{1, 2, 3}[severity(e)], "message": e.Message,
		"metadata": object{
			"version": "1.3.0", "uid": e.ID, "sequence": it.Seq,
			"product": object{"name": "weir", "vendor_name": "Weir"},
		},
		"actor":        object{"user": object{"name": e.Principal}, "session": object{"uid": e.Session}},
		"api":          object{"operation": e.Method, "service": object{"name": e.Server}, "request": object{"uid": e.Call}},
		"src_endpoint": object{"name": e.Principal}, "dst_endpoint": object{"name": e.Server},
		"resources": []object{{"name": e.Name, "type": "mcp"}},
		"unmapped":  object{"event": it.Raw},
	}
	if len(e.Facts) > 0 {
		out["enrichments"] = []object{{"name": "weir.facts", "value": e.Rule, "type": "policy", "data": e.Facts}}
	}
	if e.Kind == record.Decision {
		id, name := 1, "Allowed"
		if !slices.Contains([]string{"allow", "warn"}, e.Effect) {
			id, name = 2, "Denied"
		}
		out["action_id"], out["action"] = id, name
		out["metadata"].(object)["profiles"] = []string{"security_control"}
	}
	return json.Marshal(out)
}

// otlp writes an ExportLogsServiceRequest of the OpenTelemetry protocol, version 1, with one log record, as its JSON
// encoding and the file exporter have it.
func otlp(it Item) ([]byte, error) {
	e := it.Event
	attributes := []object{{"key": "weir.entry", "value": object{"intValue": strconv.FormatInt(it.Seq, 10)}}}
	for _, a := range [...]struct{ key, value string }{
		{"weir.event.id", e.ID}, {"session.id", e.Session}, {"enduser.id", e.Principal}, {"weir.call", e.Call},
		{"mcp.server", e.Server}, {"mcp.method.name", e.Method}, {"weir.name", e.Name}, {"weir.phase", e.Phase},
		{"weir.effect", e.Effect}, {"weir.decided", e.Decided}, {"weir.rule", e.Rule}, {"weir.where", e.Where},
		{"weir.arguments", e.Arguments}, {"weir.label", labelText(e)}, {"weir.facts", string(e.Facts)},
	} {
		if a.value != "" {
			attributes = append(attributes, object{"key": a.key, "value": object{"stringValue": a.value}})
		}
	}
	text := e.Message
	if text == "" {
		text = title(e)
	}
	level := severity(e)
	nano := strconv.FormatInt(e.Time.UnixNano(), 10)
	return json.Marshal(object{"resourceLogs": []object{{
		"resource": object{"attributes": []object{{"key": "service.name", "value": object{"stringValue": "weir"}}}},
		"scopeLogs": []object{{
			"scope": object{"name": "dev.weir"},
			"logRecords": []object{{
				"timeUnixNano": nano, "observedTimeUnixNano": nano, "eventName": "weir." + string(e.Kind),
				"severityNumber": [...]int{9, 13, 17}[level], "severityText": [...]string{"INFO", "WARN", "ERROR"}[level],
				"body": object{"stringValue": text}, "attributes": attributes,
			}},
		}},
	}}})
}
