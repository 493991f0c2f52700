package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// errReply is for a response that is no answer.
var errReply = errors.New("it is no answer to the question")

// decisions are the words that a webhook can answer with: "pending" is none yet, and nothing else is an answer.
var decisions = map[string]approve.Answer{"accept": approve.Accepted, "deny": approve.Declined, "pending": ""}

// maxBy bounds the name of who answers, in bytes.
const maxBy = 200

// readReply reads the answer to a question out of a response: a JSON object with exactly these members, signed with the
// secret under the id "answer_" and the id of the question.
//
//	Webhook-Id: answer_K7Q2…
//	Webhook-Timestamp: 1763719212
//	Webhook-Signature: v1,BASE64
//
//	{"question":"K7Q2…","decision":"accept","by":"ann@example.com"}
//
// The decision is "accept", "deny" or "pending", which means as much as status 202 and needs no by. The question is
// bound to its call, so this is too. A reply that deviates from this by a byte of the signature, a member or a word is
// no answer.
func (h *hook) readReply(question string, r *response) (said approve.Answer, by string, err error) {
	if err := h.Secret.verify(r.header, answerPrefix+question, h.now(), r.body); err != nil {
		return "", "", err
	}
	if rawjson.Check(r.body) != nil || rawjson.Kind(r.body) != '{' {
		return "", "", errReply
	}
	members := map[string]string{}
	for name, raw := range rawjson.Members(r.body) {
		text, ok := rawjson.String(raw)
		if !ok || name != "question" && name != "decision" && name != "by" {
			return "", "", errReply
		}
		members[name] = text
	}
	said, known := decisions[members["decision"]]
	switch {
	case members["question"] != question || !known || len(members["by"]) > maxBy:
		return "", "", errReply
	case said != "" && members["by"] == "":
		return "", "", errReply
	}
	return said, members["by"], nil
}

// heed takes the answer out of a response, if there is one. It reports whether a person is still being asked. An error
// means that the question is open and another attempt may do better.
func (h *hook) heed(ctx context.Context, e *errand, r *response) (pending bool, err error) {
	switch {
	case r.status == http.StatusAccepted:
		return true, nil
	case len(bytes.TrimSpace(r.body)) == 0:
		return false, nil
	}
	said, by, err := h.readReply(e.asked.ID, r)
	switch {
	case errors.Is(err, errUnsigned):
		return false, nil // "ok"
	case err != nil:
		h.counts.add(webhookChannel, Refused)
		return false, fmt.Errorf("an answer that does not count: %w", err)
	case said == "":
		return true, nil
	}
	err = e.book.Answer(ctx, approve.Reply{ID: e.asked.ID, Principal: e.asked.Principal, Answer: said, Via: webhookChannel, By: by})
	switch {
	case errors.Is(err, approve.ErrNoQuestion):
		h.counts.add(webhookChannel, Refused)
		h.logger.Info("an answer of the webhook came too late", "question", e.asked.ID)
		return false, nil
	case err != nil:
		return false, err
	}
	h.counts.add(webhookChannel, Answered)
	return false, nil
}
