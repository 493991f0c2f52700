package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/program"
	"github.com/weir-mcp/weir/internal/rpc"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/record"
)

// A world is the servers of a suite, the gateway in front of them, and a host.
type world struct {
	suite   *Suite
	liar    *liar // nil: there is no quarantined model
	host    *mcp.ClientSession
	close   []func() error
	mu      sync.Mutex
	next    Call              // the server's next request, with its answer
	result  string            // the answer
	script  []Call            // the next requests, of a program; nil if there is none
	came    []json.RawMessage // the arguments of those that came
	arrived bool              // the call came to its server
	args    json.RawMessage
	person  bool     // the approver's answer
	plans   bool     // the approver's answer to requests about plans
	asked   []string // rules of the questions since it was last emptied
	request string   // the last question
}

// A described server is its trust, and its description in an overlay.
type described struct {
	trust   contract.Trust
	overlay *overlay.Overlay
	readers []string
}

// newWorld starts a world with the servers of a suite.
func newWorld(ctx context.Context, s *Suite, opts Options, about func(server string) described) (w *world, err error) {
	w = &world{suite: s}
	var servers []gateway.Server
	for _, name := range sorted(s.Servers) {
		url, err := w.serve(s, name)
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		servers = append(servers, gateway.Server{
			Name: name, Spec: upstream.Spec{Name: name, URL: url}, Trust: about(name).trust, Overlay: about(name).overlay,
			Readers: about(name).readers,
		})
	}
	hiding := gateway.Hiding{Plans: gateway.Plans{Offered: opts.Plans}}
	if opts.Programs {
		hiding.Plans.Programs, hiding.Interpreter = true, here{}
	}
	if opts.Lying {
		if w.liar, err = newLiar(s.Tools); err != nil {
			return nil, errors.Join(err, w.Close())
		}
		hiding.Quarantine = w.liar
	}
	options := gateway.Options{
		Servers: servers, Policy: opts.Policy, State: guard.NewState(nil, record.Discard()),
		Own: gateway.Own{Domains: opts.Domains, Me: opts.Me, Readers: opts.Readers}, Version: "evaluation",
		Contents: guard.Contents{Detection: guard.Detection{Detector: detect.New()}}, Hiding: hiding,
	}
	if opts.Confirmed {
		options.Pins = &draftedPins{servers}
	}
	g, err := gateway.New(options)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.close = append(w.close, g.Close)
	return w, w.connect(ctx, g)
}

// here runs programs in this process: they are the replay's own.
type here struct{}

// Run implements [gateway.Interpreter].
func (here) Run(ctx context.Context, p *program.Program, host program.Host) (program.End, error) {
	return program.Interpret(ctx, p, host)
}

// serve offers the tools of one server, and returns where.
func (w *world) serve(s *Suite, name string) (url string, err error) {
	server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
	var tools []json.RawMessage
	for _, raw := range s.Tools {
		var tool mcp.Tool
		if err := json.Unmarshal(raw, &tool); err != nil {
			return "", fmt.Errorf("reading a tool: %w", err)
		}
		if s.server(tool.Name) == name {
			server.AddTool(&tool, w.answer)
			tools = append(tools, raw)
		}
	}
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*mcp.ListToolsResult); ok {
				return &rawList{list, tools}, err
			}
			return result, err
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	endpoint := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := &http.Server{Handler: endpoint, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	done := make(chan error, 1)
	go func() { done <- web.Serve(l) }()
	w.close = append(w.close, func() error {
		err := web.Close()
		<-done
		return err
	})
	return "http://" + l.Addr().String() + "/mcp", nil
}

// A rawList is a result of tools/list with the tools as the file has them: the SDK's type has no room for all
// annotations.
type rawList struct {
	*mcp.ListToolsResult
	tools []json.RawMessage
}

// MarshalJSON implements [json.Marshaler].
func (l *rawList) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string][]json.RawMessage{"tools": l.tools})
}

// answer is the handler of every tool: it returns the result in the file.
func (w *world) answer(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.script != nil && len(w.came) < len(w.script) {
		w.next = w.script[len(w.came)]
		w.result = w.next.Result
		w.came = append(w.came, req.Params.Arguments)
	}
	if req.Params.Name != w.next.Tool {
		return nil, fmt.Errorf("a call of %s where %s was next", req.Params.Name, w.next.Tool)
	}
	w.arrived, w.args = true, req.Params.Arguments
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: w.result}}, IsError: w.next.Error}, nil
}

// protocol is the revision that the host speaks: the last in which questions are requests of their own.
const protocol = "2025-11-25"

// connect makes the host.
func (w *world) connect(ctx context.Context, g *gateway.Gateway) error {
	hostIn, gatewayOut := io.Pipe()
	gatewayIn, hostOut := io.Pipe()
	serving, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- g.ServeStdio(serving, rpc.NewStream(gatewayIn, gatewayOut, nil)) }()
	w.close = append(w.close, func() error {
		cancel()
		<-done
		return nil
	})
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: w.question})
	host, err := client.Connect(ctx, &mcp.IOTransport{Reader: hostIn, Writer: hostOut}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		return errors.Join(err, w.Close())
	}
	w.host = host
	w.close = append(w.close, host.Close)
	return nil
}

// planRequest begins the request about a plan.
const planRequest = "Allow the calls of this plan"

// question is the person's answer.
func (w *world) question(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.request = req.Params.Message
	isPlan := strings.HasPrefix(w.request, planRequest)
	w.asked = append(w.asked, pick(isPlan, guard.RulePlan, ruleOf(w.request)))
	if !w.person && !(w.plans && isPlan) {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
}

// Close ends the world.
func (w *world) Close() error {
	var errs []error
	for i := len(w.close) - 1; i >= 0; i-- {
		errs = append(errs, w.close[i]())
	}
	w.close = nil
	return errors.Join(errs...)
}

// A made call is the outcome of a call.
type made struct {
	arrived bool // it came to its server
	asked   []string
	request string              // the last request
	args    json.RawMessage     // with which it came
	got     *mcp.CallToolResult // by the host
}

// call makes one call in an agent session. The result is the server's, with the attacker's text in it if there is one.
func (w *world) call(ctx context.Context, session string, c Call, meta mcp.Meta) (made, error) {
	w.mu.Lock()
	w.next, w.arrived, w.asked, w.request = c, false, nil, ""
	w.result = c.Result
	w.mu.Unlock()

	all := mcp.Meta{"dev.weir/agent-session": session}
	for k, v := range meta {
		all[k] = v
	}
	got, err := w.host.CallTool(ctx, &mcp.CallToolParams{Meta: all, Name: c.Tool, Arguments: c.Args})
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && !w.arrived {
		return made{}, fmt.Errorf("calling %s: %w", c.Tool, err)
	}
	return made{w.arrived, w.asked, w.request, w.args, got}, nil
}
