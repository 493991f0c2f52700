package guard

import (
	"encoding/json"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// MetaUserMessage is the member of a request's _meta in which a host sends the user's messages: a text, or a list of
// texts. The host may send it with one request or with each. Messages are the user's words for this agent session, are
// shown in approval requests and go to no server.
const MetaUserMessage = ownMeta + "user-message"

// userMessages reads the messages, and reports whether all of them are texts. The ones before the first that is none
// count.
func userMessages(params json.RawMessage) (texts []string, valid bool) {
	raw, ok := rawjson.Get(params, "_meta", MetaUserMessage)
	if !ok {
		return nil, true
	}
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
