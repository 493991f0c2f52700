package gateway_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/capture"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/session"
	"github.com/weir-mcp/weir/store/sqlstore"
	"github.com/weir-mcp/weir/vault"
)

// stored has a gateway keep its sessions and hidden values in a directory, as a process of its own does.
func stored(t *testing.T, dir string) func(*gateway.Options) {
	return func(o *gateway.Options) {
		db, err := sqlstore.Open(t.Context(), filepath.Join(dir, "state.db"), &sqlstore.Options{Unsynced: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		o.State = guard.NewState(session.New(session.Options{Store: db}), record.Discard())
		o.Taints = session.NewTaints(session.TaintOptions{Store: db})
		if o.Vault, err = vault.Open(t.Context(), db, capture.NewSealer(filepath.Join(dir, "key")), vault.Limits{}); err != nil {
			t.Fatal(err)
		}
	}
}

// silentRequests are requests that nobody answers with a hidden result: W stands for the name of a value.
var silentRequests = [][2]string{
	{"prompts/get", `"name":"p"`}, {"prompts/get", `"name":"p","arguments":{"a":"[[W]]"}`}, {"resources/read", `"uri":"x://a"`},
	{"resources/read", `"uri":"weir://value/W"`}, {"completion/complete", `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"[[W"}`},
	{"completion/complete", `"ref":{"type":"ref/resource","uri":"weir://value/W"},"argument":{"name":"a","value":"W"}`},
	{"tools/list", ""}, {"prompts/list", ""}, {"resources/list", ""}, {"resources/templates/list", ""}, {"ping", ""}, {"tasks/result", `"taskId":"W"`},
	{"tools/resolve", `"name":"save","arguments":{"text":"[[W]]"}`}, {"resources/subscribe", `"uri":"weir://value/W"`}, {"logging/setLevel", `"level":"debug"`},
	{"no/method", `"a":"[[W]]"`}, {"tools/call", `"name":"nosuch","arguments":{"a":"[[W]]"}`}, {"tools/call", `"name":"weir_look","arguments":{"value":"[[W]]"}`},
	{"tools/call", `"name":"weir_look","arguments":{"value":"W","as":"CANARI"}`}, {"tools/call", `"name":"weir_each","arguments":{"value":"W","look":{"as":"text"}}`},
	{"tools/call", `"name":"weir_plan","arguments":{"goal":"[[W]]","check":true,"steps":[{"id":"a","tool":"save","arguments":{"text":"[[W]]"}}]}`},
	{"tools/call", `"name":"weir_sanitize","arguments":{"value":"W","by":"none"}`}, {"tools/call", `"name":"weir_return","arguments":{"value":"[[W]]"}`},
}

// silentHandles are the arguments of calls with handles, some of them of nothing.
var silentHandles = []string{
	`{"text":"[[W]]"}`, `{"text":"x[[W]] [[W#/from]]"}`, `{"n":"[[W#/n]]"}`, `{"n":"[[W#/CANARI]]"}`, `{"text":"[[W#/0/x]]"}`, `{"text":"[[W]] [[w00000]]"}`,
	`{"text":"[[w00000]]"}`, `{"nosuch":"[[W]]"}`, `[]`,
}

var silentLooks = []struct {
	said string
	bits int
}{
	{`"as":"integer","path":"/n","min":0,"max":14`, 4}, {`"as":"boolean"`, 2}, {`"as":"date","path":"/from"`, 18}, {`"as":"one_of","options":["a","b"]`, 2},
	{`"as":"text","path":"/from"`, 1}, {`"as":"email"`, 1}, {`"as":"number","path":"/CANARI"`, 64}, {`"as":"boolean","question":"CANARI?"`, 2},
}

var spentBits = regexp.MustCompile(`64 bits of hidden values may be told`)

// No message to a host tells a hidden result, in any order of requests to several processes with one store, of which
// some end and others begin, while servers say it in all ways. Each of them puts the same bytes in the place of a
// handle, and together they tell no more bits than one may.
func TestNoProcessTellsAHiddenResult(t *testing.T) {
	dir, round := t.TempDir(), 0
	start := func(modern bool) *family {
		h := newLeakyHost(t, modern, stored(t, dir))
		return &family{h, h.meta}
	}
	hosts := []*family{start(false), start(true)}
	told := map[string]int{}
	defer func() { t.Logf("%v", told) }()
	rapid.Check(t, func(rt *rapid.T) {
		if round++; round%10 == 0 { // a restart
			hosts[0], hosts[1] = hosts[1], start(round%20 == 0)
		}
		for _, h := range hosts {
			h.as(fmt.Sprint("s", round), "")
		}
		var names []string
		texts, bits := map[string]string{}, 0
		for range rapid.IntRange(1, 20).Draw(rt, "requests") {
			h := rapid.SampledFrom(hosts).Draw(rt, "host").leakyHost
			name := "w00000"
			if len(names) > 0 {
				name = rapid.SampledFrom(names).Draw(rt, "value")
			}
			before := rapid.SliceOfN(rapid.SampledFrom(leakyMessages), 0, 3).Draw(rt, "before")
			h.says(leak{before, rapid.SampledFrom(leakyWays).Draw(rt, "answer")})
			switch rapid.IntRange(0, 6).Draw(rt, "what") {
			case 0:
				request := rapid.SampledFrom(silentRequests).Draw(rt, "request")
				h.request(request[0], strings.ReplaceAll(request[1], "W", name))
			case 1:
				h.call("save", strings.ReplaceAll(rapid.SampledFrom(silentHandles).Draw(rt, "arguments"), "W", name))
			case 2:
				look := rapid.SampledFrom(silentLooks).Draw(rt, "look")
				answer := h.call("weir_look", fmt.Sprintf(`{"value":%q,%s}`, name, look.said))
				if spentBits.Match(answer) {
					told["spent"]++
				} else if len(names) > 0 {
					told["looks"]++
					if bits += look.bits; bits > guard.MaxLooked {
						rt.Fatalf("looks tell %d bits: %s", bits, answer)
					}
				}
			case 3:
				if len(names) > 0 {
					used(rt, h, name, texts)
					told["used"] = told["used"] + len(texts)
				}
			default:
				if m := valueName.FindSubmatch(h.call("inbox", "{}")); m != nil {
					names = append(names, string(m[1]))
					told["hidden"]++
				}
			}
			for _, h := range hosts {
				h.silent("then")
				h.heard = nil
			}
		}
	})
}

// used has a server get a value, which has to be the text that it was, if that is known.
func used(rt *rapid.T, h *leakyHost, name string, texts map[string]string) {
	h.says(leak{nil, `"result":{"content":[]}`})
	answer := h.call("save", fmt.Sprintf(`{"text":"[[%s]]"}`, name))
	raw, _ := rawjson.Get([]byte(h.got()), "text")
	var got string
	if json.Unmarshal(raw, &got) != nil || valueName.FindSubmatch(answer) == nil {
		return // it was not made
	}
	if want, known := texts[name]; known && got != want {
		rt.Fatalf("%s is %q, and was %q", name, got, want)
	}
	texts[name] = got
}
