package replay_test

import (
	"testing"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/replay"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/record"
)

// A label is lower only after an event that allows it, and nothing expires before its time.
func TestFoldFindsLaundering(t *testing.T) {
	private := label.Label{Private: true}
	session := func(key, parent string, l label.Label) record.Kept {
		return record.Kept{State: record.State{Table: record.SessionTable, Key: key, Session: key, Parent: parent}, Label: l}
	}
	old := func(key string, since int64) record.Kept {
		return record.Kept{State: record.State{Table: record.SessionTable, Key: key, Session: key, Gone: record.Expired, Expires: since}}
	}
	taint := func(expires int64, l label.Label) record.Kept {
		return record.Kept{State: record.State{Table: record.TaintTable, Key: "file:///a", Expires: expires}, Label: l}
	}
	left := func(why string) record.Kept { k := taint(0, private); return k.Left(why) }
	for name, c := range map[string]struct {
		rows  []record.Kept // one each second
		found int
	}{
		"a label of a resource is lower":        {[]record.Kept{taint(0, private), taint(0, label.Label{})}, 1},
		"it would have expired later":           {[]record.Kept{taint(2e6+1, private), taint(9e6, label.Label{})}, 1},
		"it had expired":                        {[]record.Kept{taint(2e6, private), taint(9e6, label.Label{})}, 0},
		"it was cleared":                        {[]record.Kept{taint(0, private), left("cleared"), taint(0, label.Label{})}, 0},
		"it left as expired":                    {[]record.Kept{taint(2e6, private), left(record.Expired)}, 0},
		"it left before it expired":             {[]record.Kept{taint(2e6+1, private), left(record.Expired)}, 1},
		"it left and never expires":             {[]record.Kept{taint(0, private), left(record.Expired)}, 1},
		"a label of a session is lower":         {[]record.Kept{session("a", "", private), session("a", "", label.Label{})}, 1},
		"a session is old":                      {[]record.Kept{session("a", "", private), old("a", 1e6+1)}, 0},
		"a session was heard of":                {[]record.Kept{session("a", "", private), old("a", 1e6)}, 1},
		"a session goes before its child":       {[]record.Kept{session("a", "", private), session("b", "a", private), old("a", 5e6)}, 1},
		"a session goes after its child":        {[]record.Kept{session("a", "", private), session("b", "a", private), old("b", 5e6), old("a", 5e6)}, 0},
		"a resource has a session's name":       {[]record.Kept{session("file:///a", "", private), taint(0, private), taint(0, private)}, 0},
		"a session is kept twice with one name": {[]record.Kept{session("a", "", label.Label{}), session("a", "", private)}, 0},
	} {
		f := replay.New()
		for i, k := range c.rows {
			at := time.UnixMicro(int64(i+1) * 1e6)
			body, err := k.Event(at)
			if err != nil {
				t.Fatal(err)
			}
			f.Add(&audit.Row{Seq: int64(i), Salt: []byte{1}, Entry: audit.Entry{Time: at, Chain: k.Chain(), Kind: string(record.StateRow), Body: body}})
		}
		if len(f.Findings) != c.found {
			t.Errorf("%s: %+v", name, f.Findings)
		}
	}
}
