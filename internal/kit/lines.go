package kit

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/weir-mcp/weir/conformance"
)

// The tasks of a reader.
const (
	taskRead    = "read"
	taskWrite   = "write"
	taskDigest  = "digest"
	taskMessage = "message"
)

// A Line is a task for a reader, as one line of JSON. conformance/README.md describes it, and
// conformance/schema/line.schema.json.
type Line struct {
	ID               string                         `json:"id"`
	Task             string                         `json:"task"`
	Dialect          string                         `json:"dialect,omitempty"`
	Meanings         map[string]map[string][]string `json:"meanings,omitempty"`
	Place            string                         `json:"place,omitempty"`
	Document         json.RawMessage                `json:"document,omitempty"`
	Contract         conformance.Contract           `json:"contract,omitempty"`
	Label            *conformance.Label             `json:"label,omitempty"`
	Canonicalization string                         `json:"canonicalization,omitempty"`
	Text             string                         `json:"text,omitempty"` // of a record or a message

	check Check
	read  *conformance.Read // the expected meaning, of a task of reading
	want  string            // the expected document, digest or validity, of any other task
}

// An Answer is the line with which a reader answers. A nil Defects says nothing about defects.
type Answer struct {
	ID          string                 `json:"id"`
	Unsupported bool                   `json:"unsupported,omitempty"`
	Contract    conformance.Contract   `json:"contract,omitempty"`
	Label       *conformance.Label     `json:"label,omitempty"`
	Stated      conformance.Contract   `json:"stated,omitempty"`
	Evidence    []conformance.Evidence `json:"evidence,omitempty"`
	Defects     *[]string              `json:"defects,omitempty"`
	Document    json.RawMessage        `json:"document,omitempty"`
	Digest      *string                `json:"digest,omitempty"`
	Valid       *bool                  `json:"valid,omitempty"`
}

// Lines returns the tasks of all vectors for readers.
func Lines() ([]Line, error) {
	files, err := conformance.Files()
	if err != nil {
		return nil, err
	}
	var all []Line
	for _, f := range files {
		all = append(all, fileLines(f)...)
	}
	digests, err := conformance.Digests()
	if err != nil {
		return nil, err
	}
	for i, d := range digests {
		all = append(all, Line{
			ID: fmt.Sprintf("digest/%d %s", i, d.Source), Task: taskDigest, Canonicalization: d.Canonicalization, Text: d.Record, want: d.Digest,
			check: Check{"digest." + d.Canonicalization, Must, "extension io.modelcontextprotocol/trust-annotations, evidenceRef",
				"the digest of a record under " + d.Canonicalization + ", and none where it has no canonical form"},
		})
	}
	messages, err := conformance.Messages()
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		all = append(all, Line{
			ID: "message/" + m.Name, Task: taskMessage, Text: m.Message, want: strconv.FormatBool(m.Valid),
			check: Check{"message.reading", Must, "JSON-RPC 2.0, 3 Conventions; RFC 8259, 4",
				"messages that decoders read differently are refused, and no others"},
		})
	}
	return all, nil
}

func fileLines(f conformance.File) (all []Line) {
	for _, v := range f.Read {
		all = append(all, Line{
			ID: f.Dialect + "/" + v.Place + "/" + v.Name, Task: taskRead, Dialect: f.Dialect, Meanings: f.Meanings, Place: v.Place,
			Document: v.Document, read: &v,
			check: Check{"read." + f.Dialect + "." + v.Place, Must, f.Source, "the meaning of a " + v.Place},
		})
	}
	for _, v := range f.Write {
		all = append(all, Line{
			ID: f.Dialect + "/write/" + v.Place + "/" + v.Name, Task: taskWrite, Dialect: f.Dialect, Place: v.Place,
			Document: v.Document, Contract: v.Contract, Label: v.Label, want: string(v.Want),
			check: Check{"write." + f.Dialect + "." + v.Place, Must, f.Source, "the annotations that are written to a " + v.Place + "; other members stay"},
		})
	}
	return all
}
