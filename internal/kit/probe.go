package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/conformance"
	"github.com/weir-mcp/weir/internal/rawjson"
)

func checkOf(p conformance.Probe) Check { return Check{p.ID, Level(p.Level), p.Section, p.Summary} }

// holds sends a probe, and returns what is wrong with the answer. The error says that the peer does not go on after it.
func (p *peer) holds(ctx context.Context, probe conformance.Probe) (problem string, ends error) {
	id := p.newID()
	line := strings.NewReplacer("$ID", id, "$META", introduction).Replace(probe.Line)
	if probe.Answers != "" {
		id = probe.Answers
	}
	o := p.exchange(ctx, id, []byte(line), true)
	if o.err != nil {
		return "", o.err
	}
	if probe.Ends == "result" || probe.Ends == "error" {
		p.await(ctx, id, &o)
	}
	return judgeProbe(probe, &o), nil
}

// judgeProbe holds an answer against the conditions of a probe.
func judgeProbe(p conformance.Probe, o *observation) string {
	for _, got := range append([][]byte{o.answer}, o.other...) {
		if p.Hides != "" && bytes.Contains(got, []byte(p.Hides)) {
			return fmt.Sprintf("the answer is %.*s", maxQuote, got)
		}
		if answer, _ := rawjson.Get(got, "id"); p.Ends == "none" && string(answer) == "null" {
			return fmt.Sprintf("it is answered: %.*s", maxQuote, got)
		}
	}
	_, result := rawjson.Get(o.answer, "result")
	code, failed := rawjson.Get(o.answer, "error", "code")
	if p.Ends == "result" && !result || p.Ends == "error" && !failed && (result || len(p.Codes) > 0) {
		return fmt.Sprintf("want %s, got %s", p.Ends, o.tells())
	}
	if len(p.Codes) > 0 {
		if problem := unlessCode(o, p.Codes...); problem != "" {
			return problem
		}
	}
	if n, err := strconv.Atoi(string(code)); err == nil && slices.Contains(p.Never, n) {
		return "the answer is " + o.tells()
	}
	return unlessMembers(o, p.Members)
}

// unlessCode returns a problem unless the answer is an error with one of the codes.
func unlessCode(o *observation, codes ...int) string {
	got, _ := rawjson.Get(o.answer, "error", "code")
	if code, err := strconv.Atoi(string(got)); err == nil && slices.Contains(codes, code) {
		return ""
	}
	return fmt.Sprintf("want an error with a code of %v, got %s", codes, o.tells())
}

// unlessMembers returns a problem unless the result, or the error, has the members with one of the values.
func unlessMembers(o *observation, members map[string][]json.RawMessage) string {
	body, ok := rawjson.Get(o.answer, "result")
	if !ok {
		body, _ = rawjson.Get(o.answer, "error")
	}
	for _, pointer := range slices.Sorted(maps.Keys(members)) {
		got, ok := rawjson.Get(body, segments(pointer)...)
		allowed := func(want json.RawMessage) bool {
			return string(rawjson.Canonical(want)) == string(rawjson.Canonical(got))
		}
		if !ok || len(members[pointer]) > 0 && !slices.ContainsFunc(members[pointer], allowed) {
			return fmt.Sprintf("%s is missing, or another value: %s", pointer, o.tells())
		}
	}
	return ""
}
