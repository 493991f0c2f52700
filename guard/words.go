package guard

import (
	"context"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard/trace"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/overlay"
)

// MetaUserMessage is the member of a request's _meta in which a host sends the user's messages: a text, or a list of texts.
// The host may send it with one request or with each. Messages are the user's words for this agent session, are shown in
// approval requests and go to no server.
const MetaUserMessage = ownMeta + "user-message"

// addUserMessages notes the user's messages that the host sends with a call.
func (g *Guard) addUserMessages(ctx context.Context, c *Call) error {
	raw, ok := rawjson.Get(c.Params, "_meta", MetaUserMessage)
	if !ok {
		return nil
	}
	texts, valid := userMessages(raw)
	defect := annotation.Defect{Where: "_meta." + MetaUserMessage}
	switch kept := g.tracer.AddUserMessages(c.Session, texts); {
	case !valid:
		defect.Reason = "neither a text nor a list of texts"
	case !kept:
		defect.Reason = "more than is kept of the user's words"
	default:
		return nil
	}
	return g.Defect(ctx, c, defect)
}

// userMessages reads the messages, and reports whether all of them are texts. The ones before the first that is none count.
func userMessages(raw []byte) (texts []string, valid bool) {
	valid = true
	read := func(value []byte) {
		text, isText := rawjson.String(value)
		if valid = valid && isText; isText && text != "" {
			texts = append(texts, text)
		}
	}
	if rawjson.Kind(raw) != '[' {
		read(raw)
		return texts, valid
	}
	for value := range rawjson.Elements(raw) {
		read(value)
	}
	return texts, valid
}

// traced returns the call as it is traced.
func (c *Call) traced() *trace.Call {
	return &trace.Call{
		Session: c.Session, Server: c.Server, Vouched: c.Trust != contract.Untrusted, Name: c.Name, URI: c.URI(),
		Params: c.Params, Arguments: c.Arguments, Schema: c.Schema,
		UndeclaredNames: c.Undeclared.Names, UndeclaredParams: c.Undeclared.Params,
		Keeps: c.keeps(), Inquiry: c.asked,
	}
}

// keeps reports whether the server may keep the arguments: in all calls but reads that use them for the call alone.
func (c *Call) keeps() bool {
	return c.Effective.ReadOnly != contract.Yes || !label.SetOf(contract.Ephemeral).Contains(c.Effective.Destinations.Set())
}

// expect notes that untrusted data is about to raise the session: a call that sees the label then knows its source.
func (g *Guard) expect(c *Call, l label.Label) {
	if l.Untrusted {
		g.tracer.ExpectUntrusted(c.Session)
	}
}

// indexResult notes an answer that the agent gets to see.
func (g *Guard) indexResult(c *Call, a Answer, l label.Label) {
	var directory []overlay.Named
	if a.Error == nil && !c.asked {
		directory = c.Overlay.Directory(a.Result)
	}
	g.tracer.AddResult(c.traced(), a.Raw(), l, directory)
}
