package guard

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
)

// The requests that servers make of hosts: for text that a person types, for text of the host's model, and for the
// folders that the host has open (2025-11-25, Elicitation, Sampling, Roots; the same methods in 2026-07-28, Multi
// Round-Trip Requests).
const (
	Elicitation = "elicitation/create"
	Sampling    = "sampling/createMessage"
	Roots       = "roots/list"
)

// errBackwards says that a request came from the wrong side: rules may take its method for proof that a server asked.
var errBackwards = errors.New("only servers make this request")

// IsInquiry reports whether only servers make requests with this method.
func IsInquiry(method string) bool {
	return method == Elicitation || method == Sampling || method == Roots
}

// Inquiry returns the call that stands for a question which the server asks in the middle of c. [Guard.Ask] decides
// whether the host may be asked; [Guard.Before] of its [Call.Reply] whether the answer may go to the server. Its
// contract is that of c, except that a call with an answer never only reads.
func (c *Call) Inquiry(method string, params json.RawMessage) *Call {
	r := newRequest(c)
	r.refine(reading{})
	q := r.Call
	q.Declared, q.Overlay, q.Resolved = r.said, nil, nil // which speak of the arguments of c, not of the answer
	q.asked, q.within, q.before, q.Fits = true, c, nil, nil
	q.Method, q.Name, q.Params, q.Arguments = method, method, params, rawjson.Delete(params, "_meta")
	q.Declared.ReadOnly, q.Effective.ReadOnly = contract.Unknown, contract.No
	return &q
}

// Reply returns the call that stands for the host's answer to an inquiry. For a form, its arguments are the typed
// values.
func (c *Call) Reply(answer json.RawMessage) *Call {
	r := *c
	r.Params, r.Arguments, r.before = answer, rawjson.Delete(answer, "_meta"), nil
	if c.Method != Elicitation {
		return &r
	}
	content, _ := rawjson.Get(answer, "content")
	rest := rawjson.Delete(rawjson.Delete(r.Arguments, "action"), "content")
	action, _ := rawjson.Get(answer, "action")
	switch {
	case rawjson.Kind(answer) != '{', action != nil && !slices.Contains([]string{`"accept"`, `"decline"`, `"cancel"`}, string(action)),
		rawjson.HasMembers(rest), content != nil && rawjson.Kind(content) != '{' && rawjson.Kind(content) != 'n':
		// Not the answer that the specification knows, so all of it counts.
	case rawjson.HasMembers(content):
		r.Arguments = content
	default:
		r.Arguments = nil // declined, or there was nothing to type
	}
	return &r
}

// ReplyMethod tells by its form which kind of question an answer is for, where nobody remembers the question. An answer
// that is neither a form nor a list of folders counts as the model's.
func ReplyMethod(answer json.RawMessage) string {
	var names []string
	for name := range rawjson.Members(rawjson.Delete(answer, "_meta")) {
		names = append(names, name)
	}
	slices.Sort(names)
	switch {
	case slices.Equal(names, []string{"action"}), slices.Equal(names, []string{"action", "content"}):
		return Elicitation
	case slices.Equal(names, []string{"roots"}):
		return Roots
	}
	return Sampling
}

// An InputRequest is one of the questions in a result (2026-07-28, Multi Round-Trip Requests).
type InputRequest struct {
	Method string
	Params json.RawMessage // nil if it has none
}

// ReadInputRequest reads one member of a result's inputRequests.
func ReadInputRequest(request json.RawMessage) (r InputRequest) {
	raw, _ := rawjson.Get(request, "method")
	r.Method, _ = rawjson.String(raw)
	r.Params, _ = rawjson.Get(request, "params")
	return r
}

// InputRequests returns the questions in a result.
func InputRequests(result json.RawMessage) (all []InputRequest) {
	requests, _ := rawjson.Get(result, "inputRequests")
	for _, request := range rawjson.Members(requests) {
		all = append(all, ReadInputRequest(request))
	}
	return all
}

// An InputResponse is one of the answers with which a host of 2026-07-28 sends a request again.
type InputResponse struct {
	Name, Method string
	Answer       json.RawMessage
}

// InputResponses returns the answers in params. Forms come first: it raises the session, which a person who
// is asked about another answer has to know.
func InputResponses(params json.RawMessage) (all []InputResponse) {
	responses, _ := rawjson.Get(params, "inputResponses")
	for name, answer := range rawjson.Members(responses) {
		all = append(all, InputResponse{name, ReplyMethod(answer), answer})
	}
	slices.SortStableFunc(all, func(a, b InputResponse) int { return strings.Compare(a.Method, b.Method) })
	return all
}

// carries returns the label of the data that a reply brings into the session: text that a person types is the person's
// own. Text of the model is made of data that the session holds already, and folders name no data.
func carries(c *Call) label.Label {
	if c.Method != Elicitation || c.Arguments == nil {
		return label.Label{}
	}
	typed := label.Label{Sources: label.SetOf(label.UserSource), Sensitivity: label.SetOf(label.User)}.Normal()
	typed.Attribution = label.SetOf(c.URI())
	return typed
}

// isSilent reports whether an inquiry has no text that a person or a model could read.
func isSilent(c *Call) bool {
	meta, _ := rawjson.Get(c.Params, "_meta")
	for name, value := range rawjson.Members(meta) {
		if name != "progressToken" || rawjson.Kind(value) != '0' {
			return false
		}
	}
	return IsInquiry(c.Method) &&
		(c.Arguments == nil || rawjson.Kind(c.Arguments) == '{' && !rawjson.HasMembers(c.Arguments))
}
