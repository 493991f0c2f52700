// Command web is a host for several users: each has an agent session, and answers approval requests over HTTP.
//
//	POST /call                   a call of a tool, as in tools/call; the answer is its result
//	GET  /requests               the user's open approval requests
//	POST /requests/{id}?yes=true an answer
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/mcpguard"
	"github.com/weir-mcp/weir/session"
)

// A request waits for its user.
type request struct {
	user, text string
	answer     chan bool
}

// requests are the open approval requests by id.
type requests struct {
	mu   sync.Mutex
	open map[string]request
}

// ask puts a question to the user whose agent session it is about, and waits for as long as the user's call does.
func (rs *requests) ask(ctx context.Context, q *guard.Question) (bool, error) {
	prompt := approval.NewPrompt(q)
	if prompt.Unseen != "" {
		return false, nil // there is more to it than the page shows
	}
	id, r := rand.Text(), request{q.Session.Principal, prompt.Text(), make(chan bool, 1)}
	rs.mu.Lock()
	rs.open[id] = r
	rs.mu.Unlock()
	defer rs.take(id, r.user)
	select {
	case yes := <-r.answer:
		return yes, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// take removes a request of the user.
func (rs *requests) take(id, user string) (request, bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r, ok := rs.open[id]
	if !ok || r.user != user {
		return request{}, false
	}
	delete(rs.open, id)
	return r, true
}

func (rs *requests) list(w http.ResponseWriter, req *http.Request) {
	texts := map[string]string{}
	rs.mu.Lock()
	for id, r := range rs.open {
		if r.user == userOf(req) {
			texts[id] = r.text
		}
	}
	rs.mu.Unlock()
	_ = json.NewEncoder(w).Encode(texts)
}

func (rs *requests) answer(w http.ResponseWriter, req *http.Request) {
	r, ok := rs.take(req.PathValue("id"), userOf(req))
	if !ok {
		http.Error(w, "no such request", http.StatusNotFound)
		return
	}
	r.answer <- req.URL.Query().Get("yes") == "true"
}

// passwords are those of the users. A real backend has sign-in of its own.
var passwords = map[string]string{"ann": "a", "bob": "b"}

func userOf(req *http.Request) string {
	name, _, _ := req.BasicAuth()
	return name
}

func signedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name, password, ok := req.BasicAuth()
		if known, exists := passwords[name]; !ok || !exists || password != known {
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, req)
	})
}

func main() {
	open := &requests{open: map[string]request{}}
	protector, err := mcpguard.New(mcpguard.Options{Ask: open.ask})
	client := mcp.NewClient(&mcp.Implementation{Name: "web", Version: "1.0.0"}, nil)
	server := &mcp.CommandTransport{Command: exec.Command(os.Args[1])}
	ctx := context.Background()
	notes, failed := client.Connect(ctx, protector.Transport(mcpguard.Server{Name: "notes", Trust: contract.Trusted}, server), nil)
	listener, refused := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(err, failed, refused); err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /requests", open.list)
	mux.HandleFunc("POST /requests/{id}", open.answer)
	mux.HandleFunc("POST /call", func(w http.ResponseWriter, req *http.Request) {
		var call mcp.CallToolParams
		if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, 1<<20)).Decode(&call); err != nil {
			http.Error(w, "no call", http.StatusBadRequest)
			return
		}
		call.Meta = nil // the browser's own labels and messages count for nothing
		ref := session.Ref{Key: "web:" + userOf(req), Principal: userOf(req)}
		result, err := notes.CallTool(mcpguard.WithSession(req.Context(), ref), &call)
		if err != nil {
			http.Error(w, "the call failed", http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(result)
	})
	log.Println("listening on", listener.Addr())
	log.Fatal(http.Serve(listener, http.NewCrossOriginProtection().Handler(signedIn(mux))))
}
