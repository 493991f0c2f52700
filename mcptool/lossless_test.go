package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/mcptool"
)

// serveOne returns a client of a server with one tool of the contract, which labels its result as says does.
func serveOne(t *testing.T, c contract.Contract, says func(*mcptool.Call) *mcp.CallToolResult) *mcp.ClientSession {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	tools, err := mcptool.New(server, mcptool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = mcptool.Add(tools, &mcp.Tool{Name: "t"}, mcptool.Declaration[file]{Contract: c},
		func(_ context.Context, c *mcptool.Call, _ file) (*mcp.CallToolResult, any, error) {
			return says(c), nil, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, server, "2025-11-25", nil)
}

// read returns the label that a client reads of a result.
func read(t *testing.T, r *mcp.CallToolResult) label.Label {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	claim, defects := annotation.ReadResult(raw)
	if len(defects) > 0 {
		t.Fatal(defects)
	}
	return claim.Label
}

// Clients read the label that a handler gives its result, even if a vocabulary cannot express all of it.
func TestLabelsReachTheClient(t *testing.T) {
	for _, l := range []label.Label{
		{Sensitivity: label.SetOf(label.Credentials)}, {Private: true}, {Sensitivity: label.SetOf(label.Unspecified)},
		{Sensitivity: label.SetOf(label.RegulatedBy("HIPAA"))}, {Sources: label.SetOf(label.Internal)}, {Readers: label.OnlyReaders("ann")},
		{Untrusted: true}, {Malicious: true, Findings: label.SetOf("override")},
	} {
		s := serveOne(t, contract.Contract{OpenWorld: contract.No}, func(c *mcptool.Call) *mcp.CallToolResult { return c.Text("x", l) })
		if diff := cmp.Diff(l.Normal(), read(t, call(t, s, &mcp.CallToolParams{Name: "t", Arguments: file{}}))); diff != "" {
			t.Errorf("%+v: %s", l, diff)
		}
	}
}

// A handler that forgets the label returns all that its contract calls possible.
func TestForgottenLabels(t *testing.T) {
	c := contract.Contract{Sources: contract.Possible(label.UntrustedPublic), Returns: contract.Possible(label.PII), Output: contract.Output{Secret: contract.Yes}}
	bare := func(*mcptool.Call) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x"}}}
	}
	got := read(t, call(t, serveOne(t, c, bare), &mcp.CallToolParams{Name: "t", Arguments: file{}}))
	want := label.Label{Sources: label.SetOf(label.UntrustedPublic), Sensitivity: label.SetOf(label.PII, label.Credentials)}.Normal()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	said := read(t, call(t, serveOne(t, c, func(c *mcptool.Call) *mcp.CallToolResult { return c.Text("x", label.Label{}) }), &mcp.CallToolParams{Name: "t", Arguments: file{}}))
	if !said.IsZero() {
		t.Errorf("a handler that says that there is nothing to say gives %+v", said)
	}
}

// A result that breaks its contract is an internal error, and the tool's findings stay with it.
func TestRefusedResultsKeepTheirFindings(t *testing.T) {
	closed := contract.Contract{Sources: contract.Possible(label.System), Returns: contract.Possible[label.Class]()}
	for _, l := range []label.Label{
		{Sensitivity: label.SetOf(label.Credentials)}, {Private: true}, {Untrusted: true},
		{Sources: label.SetOf(label.UntrustedPublic), Malicious: true, Findings: label.SetOf("override")},
	} {
		s := serveOne(t, closed, func(c *mcptool.Call) *mcp.CallToolResult { return c.Text("x", l) })
		_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Arguments: file{}})
		var wire *jsonrpc.Error
		if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInternalError || !strings.Contains(wire.Message, "outside") {
			t.Fatalf("%+v: %v", l, err)
		}
		claim, _ := annotation.ReadResult(wire.Data)
		if diff := cmp.Diff(l.Normal(), claim.Label); diff != "" {
			t.Errorf("%+v: %s", l, diff)
		}
	}
	// An internal tool may return untrusted content (SEP-1913, Why Separate openWorldHint for Data vs. Tools?).
	calendar := contract.Contract{OpenWorld: contract.No, Sources: contract.Possible(label.UntrustedPublic)}
	s := serveOne(t, calendar, func(c *mcptool.Call) *mcp.CallToolResult {
		return c.Text("x", label.Label{Untrusted: true, Malicious: true})
	})
	if got := read(t, call(t, s, &mcp.CallToolParams{Name: "t", Arguments: file{}})); !got.Malicious || !got.Untrusted {
		t.Errorf("%+v", got)
	}
}

func TestContractsWithoutWords(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	tools, err := mcptool.New(server, mcptool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]contract.Contract{
		"a source":          {Sources: contract.Possible[label.Source]("mars")},
		"a class":           {Returns: contract.Possible[label.Class]("gossip")},
		"a long scope":      {Returns: contract.Possible(label.RegulatedBy(strings.Repeat("x", 300)))},
		"no destination":    {Destinations: contract.Possible[contract.Destination]()},
		"a long attributon": {Attribution: label.SetOf("mcp://" + strings.Repeat("x", 3000))},
	} {
		err := mcptool.Add(tools, &mcp.Tool{Name: "t"}, mcptool.Declaration[file]{Contract: c},
			func(context.Context, *mcptool.Call, file) (*mcp.CallToolResult, any, error) { return nil, nil, nil })
		if err == nil || !strings.Contains(err.Error(), "no words") {
			t.Errorf("%s is taken: %v", name, err)
		}
	}
	long := label.Label{Sensitivity: label.SetOf(label.RegulatedBy(strings.Repeat("x", 300)))}
	s := serveOne(t, contract.Contract{}, func(c *mcptool.Call) *mcp.CallToolResult { return c.Text("x", long) })
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Arguments: file{}}); err == nil {
		t.Error("a label without words is left out")
	}
}
