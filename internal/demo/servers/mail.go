package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/label"
)

// A Message is one mail: an element of drafts.json and inbox.json, a line of outbox.jsonl.
type Message struct {
	ID      string `json:"id,omitempty"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

// OutboxFile is the file in the mail server's directory that holds the sent mail, one [Message] a line.
const OutboxFile = "outbox.jsonl"

type limitArgument struct {
	Limit int `json:"limit,omitempty" jsonschema:"how many messages at most; all if absent"`
}

type idArgument struct {
	ID string `json:"id" jsonschema:"id of the message, as list_inbox shows it"`
}

type sendArguments struct {
	To      string `json:"to" jsonschema:"address of the recipient"`
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

func registerMail(s *mcp.Server, dir string) (closer, error) {
	outbox, err := os.OpenFile(filepath.Join(dir, OutboxFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	drafts := notes{
		Attribution: []string{"mcp://mail.demo.example/drafts"},
		Returns:     returns{label.UserSource, sensitivity{label.PII}},
	}
	inbox := notes{
		OpenWorld:   true, // anyone can write to the user
		Attribution: []string{"mcp://mail.demo.example/inbox"},
		Returns:     returns{label.UntrustedPublic, sensitivity{label.PII, label.User}},
	}
	add(s, "read_drafts", "Read the user's email drafts.", func(context.Context, noArguments) (answer, error) {
		text, err := mailbox(filepath.Join(dir, "drafts.json"), func(int, Message) bool { return true })
		return answer{text, drafts}, err
	})
	add(s, "list_inbox", "List recent emails in the user's inbox.",
		func(_ context.Context, in limitArgument) (answer, error) {
			text, err := mailbox(filepath.Join(dir, "inbox.json"), func(i int, _ Message) bool {
				return in.Limit <= 0 || i < in.Limit
			})
			return answer{text, inbox}, err
		})
	add(s, "read_message", "Read one email of the user's inbox.", func(_ context.Context, in idArgument) (answer, error) {
		text, err := mailbox(filepath.Join(dir, "inbox.json"), func(_ int, m Message) bool { return m.ID == in.ID })
		if err == nil && text == "" {
			err = fmt.Errorf("no message %q", in.ID)
		}
		return answer{text, inbox}, err
	})
	add(s, "send_email", "Send an email on behalf of the user.", func(_ context.Context, in sendArguments) (answer, error) {
		line, err := json.Marshal(Message{To: in.To, Subject: in.Subject, Body: in.Body})
		if err != nil {
			return answer{}, err
		}
		if _, err := outbox.Write(append(line, '\n')); err != nil {
			return answer{}, err
		}
		return done("sent to %s", in.To), nil
	})
	return outbox.Close, nil
}

// mailbox returns the messages of a file that are wanted, as text.
func mailbox(file string, wanted func(i int, m Message) bool) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var messages []Message
	if err := json.Unmarshal(data, &messages); err != nil {
		return "", fmt.Errorf("reading %s: %w", file, err)
	}
	var b strings.Builder
	for i, m := range messages {
		if !wanted(i, m) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n----\n")
		}
		for _, head := range [][2]string{{"Id", m.ID}, {"From", m.From}, {"To", m.To}, {"Subject", m.Subject}} {
			if head[1] != "" {
				fmt.Fprintf(&b, "%s: %s\n", head[0], head[1])
			}
		}
		fmt.Fprintf(&b, "\n%s\n", m.Body)
	}
	return b.String(), nil
}

// ReadOutbox returns the mail that the mail server whose directory is dir has sent.
func ReadOutbox(dir string) ([]Message, error) {
	data, err := os.ReadFile(filepath.Join(dir, OutboxFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var sent []Message
	for line := range strings.Lines(string(data)) {
		var m Message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return nil, fmt.Errorf("reading the outbox: %w", err)
		}
		sent = append(sent, m)
	}
	return sent, nil
}
