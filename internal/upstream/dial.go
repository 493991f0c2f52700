package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/rpc"
)

// Dial reaches the server and agrees with it on a revision. A host of 2026-07-28 has server/discover tried first and
// the handshake of older revisions if that gets anything but a fitting answer; for a host of an older revision it is
// the other way round, if the server says that it knows no handshake or not that revision. A child that leaves
// server/discover unanswered for Options.Probe gets the handshake, so one that is slow to start may be spoken to in an
// older revision than it knows.
//
// ctx bounds this and not the connection. On error nothing is left behind.
func Dial(ctx context.Context, spec Spec, hello Hello, opts *Options) (*Conn, error) {
	hello, err := hello.check()
	if err != nil {
		return nil, fmt.Errorf("reaching server %q: %w", spec.Name, err)
	}
	d := &dialer{spec: spec, hello: hello, opts: opts.withDefaults()}
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("reaching server %q: %w", spec.Name, err)
	}
	return conn, nil
}

// A dialer is one call of Dial.
type dialer struct {
	spec  Spec
	hello Hello
	opts  Options
	conn  *Conn // that the next step may use; nil if it must make one
	mute  bool  // the server did not answer server/discover in time
}

// A step tries one way to agree. Errors that wrap errNext say that another may work.
type step func(ctx context.Context) (*agreement, error)

// errNext says that the server does not speak this era, as far as one can tell.
var errNext = errors.New("not spoken")

// An agreement is the outcome of a step.
type agreement struct {
	protocol string
	welcome  json.RawMessage
}

// dial takes the steps until one succeeds.
func (d *dialer) dial(ctx context.Context) (*Conn, error) {
	var failed []error
	for _, step := range d.steps() {
		if err := d.open(ctx); err != nil {
			return nil, together(append(failed, err))
		}
		agreed, err := step(ctx)
		if err == nil {
			d.conn.era = era{protocol: agreed.protocol, hello: d.hello}
			d.conn.welcome = agreed.welcome
			return d.conn, nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil || !errors.Is(err, errNext) {
			break
		}
	}
	if d.conn != nil {
		_ = d.conn.Close()
	}
	return nil, together(failed)
}

// together joins errors in one line.
func together(errs []error) error {
	err := errs[0]
	for _, next := range errs[1:] {
		err = fmt.Errorf("%w; %w", err, next)
	}
	return err
}

// steps returns the ways to agree, best first.
func (d *dialer) steps() []step {
	if !isModern(d.hello.Protocol) || d.spec.SSE {
		return []step{d.initialize, d.discover}
	}
	return []step{d.probe, d.initialize, d.discoverAgain}
}

// open makes a connection unless there is one that lives. A server may have taken an unknown method for a reason to
// exit, or to break the connection.
func (d *dialer) open(ctx context.Context) error {
	if d.conn != nil && d.conn.Err() == nil {
		return nil
	}
	if d.conn != nil {
		_ = d.conn.Close()
		d.conn = nil
	}
	conn, err := newConn(d.opts, func(to receiver) (transport, error) { return connect(ctx, d.spec, d.opts, to) })
	if err != nil {
		return err
	}
	d.conn = conn
	return nil
}

// connect makes the transport that the spec asks for.
func connect(ctx context.Context, spec Spec, opts Options, to receiver) (transport, error) {
	switch {
	case len(spec.Command) > 0 && spec.URL != "":
		return nil, errors.New("both a command and a URL are given")
	case len(spec.Command) > 0:
		if p := spec.Ahead.take(to); p != nil {
			return p, nil
		}
		return startProcess(spec, opts, to)
	}
	endpoint, err := url.Parse(spec.URL)
	if err != nil {
		return nil, err
	}
	if endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" {
		return nil, fmt.Errorf("neither a command nor an http or https URL is given: %q", spec.URL)
	}
	o := newOrigin(spec, endpoint)
	if !spec.SSE {
		return newStreamable(o, opts, to), nil
	}
	s, err := connectSSE(ctx, o, opts, to)
	if err != nil {
		o.close()
		return nil, err
	}
	return s, nil
}

// probe is discover for a server that may never answer an unknown method, as some children do.
func (d *dialer) probe(ctx context.Context) (*agreement, error) {
	if len(d.spec.Command) == 0 {
		return d.discover(ctx)
	}
	short, cancel := context.WithTimeout(ctx, d.opts.Probe)
	defer cancel()
	agreed, err := d.discover(short)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		d.mute = true
		return nil, fmt.Errorf("server/discover: %w: no answer within %v", errNext, d.opts.Probe)
	}
	return agreed, err
}

// discoverAgain asks a server that did not answer in time and knows no handshake: it was only slow.
func (d *dialer) discoverAgain(ctx context.Context) (*agreement, error) {
	if !d.mute {
		return nil, errors.New("no revision in common")
	}
	return d.discover(ctx)
}

// discover asks which revisions the server speaks (revision 2026-07-28, server/discover). A server that refuses the
// revision of the question says which others it takes, and is asked once more in one of them (SEP-2575).
func (d *dialer) discover(ctx context.Context) (*agreement, error) {
	result, err := d.discoverIn(ctx, newest)
	var refused *rpc.Error
	if errors.As(err, &refused) && refused.Code == rpc.UnsupportedVersion {
		raw, _ := rawjson.Get(refused.Data, "supported")
		if version := firstModern(texts(raw)); version != "" {
			result, err = d.discoverIn(ctx, version)
		}
	}
	if err != nil {
		return nil, err
	}
	raw, _ := rawjson.Get(result, "supportedVersions")
	offered := texts(raw)
	if version := firstModern(offered); version != "" {
		d.conn.transport.settle(version)
		return &agreement{version, result}, nil
	}
	return nil, fmt.Errorf("server/discover: %w: server offers %.32q", errNext, offered[:min(len(offered), 8)])
}

// discoverIn asks in one revision.
func (d *dialer) discoverIn(ctx context.Context, version string) (json.RawMessage, error) {
	params, err := era{version, d.hello}.dress(nil)
	if err != nil {
		return nil, err
	}
	return d.ask(ctx, "server/discover", params)
}

// texts returns the strings in a list.
func texts(list json.RawMessage) (out []string) {
	for value := range rawjson.Elements(list) {
		if s, ok := rawjson.String(value); ok {
			out = append(out, s)
		}
	}
	return out
}

// firstModern returns the newest revision of the later era that is among those offered; "" if none is.
func firstModern(offered []string) string {
	for _, version := range modernRevisions {
		if slices.Contains(offered, version) {
			return version
		}
	}
	return ""
}

// initialize shakes hands (revision 2025-11-25, Lifecycle).
func (d *dialer) initialize(ctx context.Context) (*agreement, error) {
	want := d.hello.Protocol
	if isModern(want) {
		want = newestLegacy
	}
	params := fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":%s,"clientInfo":%s}`,
		rawjson.Quote(want), d.hello.Capabilities, d.hello.ClientInfo)
	result, err := d.ask(ctx, "initialize", params)
	if err != nil {
		return nil, err
	}
	raw, _ := rawjson.Get(result, "protocolVersion")
	version, _ := rawjson.String(raw)
	if !slices.Contains(legacyRevisions[:], version) {
		return nil, fmt.Errorf("initialize: %w: server answers with revision %.32q", errNext, version)
	}
	d.conn.transport.settle(version)
	if err := d.conn.notify(ctx, "notifications/initialized", nil); err != nil {
		return nil, fmt.Errorf("notifications/initialized: %w", err)
	}
	return &agreement{version, result}, nil
}

// ask makes a call of the negotiation and returns its result, an object.
func (d *dialer) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	m, err := d.conn.call(ctx, method, params, false)
	if err == nil && m.Error != nil {
		err = m.Failure()
	}
	if err == nil && rawjson.Kind(m.Result) != '{' {
		d.conn.defect(BadHandshake, "%s: result is not an object", method)
		err = errors.New("result is not an object")
	}
	switch {
	case err == nil:
		return m.Result, nil
	case ctx.Err() == nil && !isUnreachable(err) && !errors.Is(err, ErrLogin) && (method == "server/discover" || refusesRevision(err)):
		return nil, fmt.Errorf("%s: %w: %w", method, errNext, err)
	}
	return nil, fmt.Errorf("%s: %w", method, err)
}

// isUnreachable reports whether an HTTP request got no response.
func isUnreachable(err error) bool { return errors.As(err, new(*url.Error)) }

// refusesRevision reports whether a server's error to initialize means that it knows no handshake, or not that
// revision: -32601 and -32022 by 2026-07-28, -32602 with the supported revisions before.
func refusesRevision(err error) bool {
	var e *rpc.Error
	if !errors.As(err, &e) {
		return false
	}
	_, supported := rawjson.Get(e.Data, "supported")
	return e.Code == rpc.MethodNotFound || e.Code == rpc.UnsupportedVersion || e.Code == rpc.InvalidParams && supported
}
