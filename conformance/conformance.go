// Package conformance holds the common reading of the annotation vocabularies of MCP for every implementation, as
// data: for each member of each dialect, valid, borderline and invalid documents with their meaning, and the place
// of each member. The README beside it describes the format for implementations in other languages.
//
//	files, err := conformance.Files()
//	for _, file := range files {
//		for _, v := range file.Read {
//			// read v.Document as v.Place, and compare with v.Contract or v.Label, and with v.Defects
//		}
//	}
//
// The vectors are embedded. The package depends on no implementation, and its own tests hold Weir to it.
package conformance

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
)

//go:embed vectors/*.json schema/*.json digests.json messages.json exchanges.json probes.json stateless.json
var data embed.FS

// A File is the vectors of one dialect.
type File struct {
	Dialect string `json:"dialect"` // its id; "emails" is of two dialects
	Source  string `json:"source"`  // the proposal that says so

	// Meanings are, for labels of an organisation, the sensitivity classes by the name of the member and its value.
	Meanings map[string]map[string][]string `json:"meanings"`

	Read  []Read  `json:"read"`
	Write []Write `json:"write"`
}

// A Read is a document and its meaning.
type Read struct {
	Name     string          `json:"name"`
	Kind     string          `json:"kind"`  // valid, borderline or invalid
	Place    string          `json:"place"` // tool, resolved, result or request
	Document json.RawMessage `json:"document"`

	Contract Contract   `json:"contract"` // the declaration of a tool, or of a resolved tool
	Label    *Label     `json:"label"`    // the statement of a result or a request
	Stated   Contract   `json:"stated"`   // the statement of a result in the words of a contract; nil where it is not compared
	Evidence []Evidence `json:"evidence"`
	Defects  []string   `json:"defects"` // paths of everything that the dialect does not allow, sorted
	Same     string     `json:"same"`    // vectors with the same word say the same in different spellings
}

// A Write is a document, the label or contract to write into it, and the outcome.
type Write struct {
	Name     string          `json:"name"`
	Kind     string          `json:"kind"`
	Place    string          `json:"place"` // tool, result or request
	Document json.RawMessage `json:"document"`
	Contract Contract        `json:"contract"` // for a tool
	Label    *Label          `json:"label"`    // for a result or a request
	Want     json.RawMessage `json:"want"`
}

// A Contract describes a tool: by the name of the member a boolean or an array of strings. A member that is absent is
// unknown.
type Contract map[string]any

// A Label describes data. Zero members claim nothing.
type Label struct {
	Untrusted   bool      `json:"untrusted,omitempty"`
	Private     bool      `json:"private,omitempty"`
	Malicious   bool      `json:"malicious,omitempty"`
	Sensitivity []string  `json:"sensitivity,omitempty"`
	Sources     []string  `json:"sources,omitempty"`
	Readers     *[]string `json:"readers,omitempty"` // nil: everyone; empty: nobody
	Attribution []string  `json:"attribution,omitempty"`
}

// Evidence is a reference to a record.
type Evidence struct {
	Type             string `json:"type"`
	Digest           string `json:"digest"`
	Canonicalization string `json:"canonicalization"`
	Schema           string `json:"schema"`
	Ref              string `json:"ref"`
}

// Files returns all vectors, in the order of their files' names.
func Files() ([]File, error) {
	names, err := fs.Glob(data, "vectors/*.json")
	if err != nil {
		return nil, fmt.Errorf("listing vectors: %w", err)
	}
	files := make([]File, len(names))
	for i, name := range names {
		text, err := data.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading vectors: %w", err)
		}
		if err := json.Unmarshal(text, &files[i]); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return files, nil
}

// A Digest is a record and its digest under one canonicalization.
type Digest struct {
	Source           string `json:"source"`
	Canonicalization string `json:"canonicalization"`
	Record           string `json:"record"`    // JSON text
	Canonical        string `json:"canonical"` // hexadecimal digits of its canonical form; "" if it has none
	Digest           string `json:"digest"`    // "" if it has none
}

// Digests returns the vectors of evidence, most of them published in RFC 8785 and RFC 8949.
func Digests() ([]Digest, error) {
	text, err := data.ReadFile("digests.json")
	if err != nil {
		return nil, fmt.Errorf("reading digests: %w", err)
	}
	var all []Digest
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading digests: %w", err)
	}
	return all, nil
}

// A Message is a message of JSON-RPC, and whether two parties that decode it may read the same of it: one that is not
// valid has names that a decoder which ignores case takes for each other, or for names of MCP, or is a request
// without an id.
type Message struct {
	Name    string `json:"name"`
	Valid   bool   `json:"valid"`
	Message string `json:"message"` // JSON text
}

// Messages returns the vectors of messages.
func Messages() ([]Message, error) {
	text, err := data.ReadFile("messages.json")
	if err != nil {
		return nil, fmt.Errorf("reading messages: %w", err)
	}
	var all []Message
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading messages: %w", err)
	}
	return all, nil
}

// An Exchange is a call through a gateway: a request of a host and the answers of a server, as JSON text, and the
// conditions on its outcome. In texts $TOOL is the name of a tool, $ID the id of the request, $TOKEN its progress
// token, and $LARGE a hundred thousand characters. An absent text is that of a plain call, or of a plain result.
type Exchange struct {
	ID      string `json:"id"`
	Level   string `json:"level"` // must or should
	Section string `json:"section"`
	Summary string `json:"summary"`

	Params  string   `json:"params"`  // of tools/call
	Line    string   `json:"line"`    // in place of the whole request
	Result  string   `json:"result"`  // of the server
	Error   string   `json:"error"`   // in place of a result
	Answers []string `json:"answers"` // in place of both: whole messages of the server, in this order
	Drops   bool     `json:"drops"`   // the server ends in place of an answer

	Server   []string `json:"server"`   // JSON pointers to members of the params that reach the server
	Host     []string `json:"host"`     // and to members of the result or the error that reach the host
	Withheld bool     `json:"withheld"` // an error in the place of the result is right too
	Ends     string   `json:"ends"`     // the host gets a result, or an error
	Once     bool     `json:"once"`     // the host gets one answer
	Calls    *int     `json:"calls"`    // requests that reach the server
	Hides    string   `json:"hides"`    // text that no answer to the host has
	Notified string   `json:"notified"` // the progress token that the host is told of
}

// Exchanges returns the exchanges for gateways.
func Exchanges() ([]Exchange, error) {
	text, err := data.ReadFile("exchanges.json")
	if err != nil {
		return nil, fmt.Errorf("reading exchanges: %w", err)
	}
	var all []Exchange
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading exchanges: %w", err)
	}
	return all, nil
}

// A Probe is a message to a server, as JSON text, and the conditions on its answer. $ID is an id.
type Probe struct {
	ID      string `json:"id"`
	Level   string `json:"level"` // must or should
	Section string `json:"section"`
	Summary string `json:"summary"`
	Line    string `json:"line"`

	Ends    string `json:"ends"`    // the answer is a result, an error, none, or any of these
	Answers string `json:"answers"` // the id of the answer, where it is not $ID
	Codes   []int  `json:"codes"`   // of the error
	Never   []int  `json:"never"`   // codes that the error does not have
	Hides   string `json:"hides"`   // text that no answer has

	// Members are JSON pointers to members that the result or the error has, with the values that are allowed; none
	// allows any.
	Members map[string][]json.RawMessage `json:"members"`
}

// Probes returns the messages to servers of a revision with a handshake.
func Probes() ([]Probe, error) { return probes("probes.json") }

// StatelessProbes returns the messages to servers of 2026-07-28. $META are the members of _meta that each request has.
func StatelessProbes() ([]Probe, error) { return probes("stateless.json") }

func probes(name string) ([]Probe, error) {
	text, err := data.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading probes: %w", err)
	}
	var all []Probe
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return all, nil
}

// Schema returns the JSON Schema of the annotations of a tool in a dialect, and false if there is none.
func Schema(dialect string) (schema []byte, ok bool) {
	schema, err := data.ReadFile("schema/" + dialect + ".schema.json")
	return schema, err == nil
}
