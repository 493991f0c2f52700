package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// hookKey is the secret of the webhook of scripts, whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=.
const hookKey = "0123456789abcdef0123456789abcdef"

// hook is "hook VAR FILE DECISION": it serves a webhook until the script ends, sets the variable to its URL, appends
// the notifications with a good signature to the file, a line each, and answers questions with the decision, signed;
// with none if that is "nothing".
func hook(ts *testscript.TestScript, _ bool, args []string) {
	path, decision := ts.MkAbs(args[1]), args[2]
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		id, at := r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp")
		if err != nil || r.Header.Get("Webhook-Signature") != hookSignature(id, at, body) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintf(f, "%s\n", body)
			f.Close()
		}
		var told struct {
			Type string
			Data struct{ Question string }
		}
		if json.Unmarshal(body, &told) != nil || told.Type != "approval.asked" || decision == "nothing" {
			return
		}
		answer := fmt.Appendf(nil, `{"question":%q,"decision":%q,"by":"ann@example.com"}`, told.Data.Question, decision)
		id, at = "answer_"+told.Data.Question, strconv.FormatInt(time.Now().Unix(), 10)
		w.Header().Set("Webhook-Id", id)
		w.Header().Set("Webhook-Timestamp", at)
		w.Header().Set("Webhook-Signature", hookSignature(id, at, answer))
		_, _ = w.Write(answer) // who hung up gets none
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL+"/hook?key=k3y")
}

func hookSignature(id, at string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(hookKey))
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// fetch is "fetch URL [HOST [TOKENFILE]]": it gets a page, for another host name if one is given, and with the bearer token in the
// file, and prints the status, the media type and the body.
func fetch(ts *testscript.TestScript, _ bool, args []string) {
	req, err := http.NewRequest(http.MethodGet, args[0], nil)
	ts.Check(err)
	if len(args) > 1 {
		req.Host = args[1]
	}
	if len(args) > 2 {
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(args[2])))
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%s %s\n%s\n", resp.Status, resp.Header.Get("Content-Type"), body)
}
