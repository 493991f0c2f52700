package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/gateway/backend"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/notify"
	"github.com/weir-mcp/weir/internal/setup"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A statusSource tells how a process does.
type statusSource struct {
	*Service
	*reloader
	started time.Time
	people  *notify.Notifier
	asked   *approvalStats // nil: no log is kept
	db      *sqlstore.DB   // nil: none is kept
	refused func() error   // why no event can be recorded
	log     *slog.Logger
}

// process tells of the process as it is now.
func (t *statusSource) process() status.Process {
	t.mu.Lock()
	now, last := t.now, t.last
	t.mu.Unlock()
	g := t.gateway.Status()
	p := status.Process{
		Version: home.Version(), Command: "weir run", Config: now.Path, Started: t.started.UTC().Round(0), Policy: setup.PolicyName(now.Config),
		Digest: g.Policy.Digest(), Mode: g.Mode.String(), Hosts: g.Hosts, Questions: g.Questions, Budget: g.Budget,
	}
	if abs, err := filepath.Abs(now.Path); err == nil {
		p.Config = abs
	}
	if t.Service.Reload == nil {
		p.Command, p.Config = "weir wrap", ""
	}
	if at := t.serves.Load(); at != nil {
		p.Serves = *at
	}
	for _, s := range now.Config.Servers {
		one := status.Server{Name: s.Name, Transport: string(s.Transport), Trust: s.Trust.String(), Disabled: s.Disabled}
		if i := slices.IndexFunc(g.Servers, func(g backend.ServerStatus) bool { return g.Name == s.Name }); i >= 0 {
			fill(&one, g.Servers[i])
		}
		p.Calls, p.InFlight = p.Calls+one.Calls, p.InFlight+one.InFlight
		p.Servers = append(p.Servers, one)
	}
	if err := t.refused(); err != nil {
		p.Log = err.Error()
	}
	p.Store, p.Notifications = t.storeHealth(), t.told()
	if p.Store == nil || p.Store.State == string(sqlstore.OK) {
		p.Approvals = t.figures()
	}
	if n := g.Conversation; n != nil {
		p.Session = &status.Session{Key: n.Session(), Host: n.Host, Folder: n.Folder, Began: n.Began, New: agentsession.NewSession(*n)}
	}
	if !last.at.IsZero() {
		p.Reload = &status.Reload{At: last.at.UTC().Round(0), Taken: last.taken}
		for _, q := range last.problems {
			place := config.Problem{File: q.File, Line: q.Line, Col: q.Column}.String()
			p.Reload.Problems = append(p.Reload.Problems, status.Problem{Place: strings.TrimSuffix(place, ": "), Message: q.Message, Hint: q.Hint})
		}
	}
	return p
}

// storeHealth tells how the store does; nil if none is kept.
func (t *statusSource) storeHealth() *status.Store {
	if t.db == nil {
		return nil
	}
	h := t.db.Health()
	s := &status.Store{State: string(h.State), Since: h.Since.UTC().Round(0)}
	if h.Err != nil {
		s.Error, s.Hint = h.Err.Error(), storeHint(h.Err, t.Config.Store)
	}
	if r := t.db.Refused(); r.Rows > 0 {
		s.Refused = &status.Refused{Rows: r.Rows, Last: r.Last.UTC().Round(0), Error: r.Err.Error(), Hint: rowHint}
	}
	return s
}

// figures tells how much people are asked; nil if that is not known.
func (t *statusSource) figures() *status.Approvals {
	if t.asked == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), figuresTime)
	defer cancel()
	f, err := t.asked.figures(ctx)
	if err != nil {
		t.log.Warn("adding up what people are asked", "error", err)
		return nil
	}
	return f
}

// figuresTime bounds how long adding up may take.
const figuresTime = time.Second

// told counts the notifications by their outcome.
func (t *statusSource) told() (all []status.Notification) {
	for _, c := range t.people.Counts() {
		all = append(all, status.Notification{Channel: c.Channel, Result: string(c.Result), Count: c.N})
	}
	return all
}

// fill tells how the gateway stands with a server.
func fill(s *status.Server, g backend.ServerStatus) {
	s.State, s.Connections, s.Protocols, s.PIDs = string(g.State), g.Connections, g.Protocols, g.PIDs
	s.Trust, s.Lowered = g.Trust.String(), g.Lowered
	s.Calls, s.InFlight, s.Unreviewed = g.Calls, g.InFlight, g.Unreviewed
	if g.State == backend.Failed {
		s.Retry = g.Retry.UTC().Round(0)
	}
	if g.Err != nil {
		s.Error, s.ErrorAt = g.Err.Error(), g.ErrTime.UTC().Round(0)
	}
}

// ServerState says how a process stands with a server.
func ServerState(s status.Server, now time.Time) string {
	if s.Disabled {
		return "disabled"
	}
	var parts []string
	switch backend.State(s.State) {
	case backend.Idle:
		parts = append(parts, "not needed yet")
	case backend.Failed:
		if s.Retry.After(now) {
			parts = append(parts, "cannot be reached, is not tried again before "+Moment(s.Retry, now))
		} else {
			parts = append(parts, "cannot be reached, is tried again when it is needed")
		}
	case backend.NeedsLogin:
		parts = append(parts, "needs login")
	case backend.Ended:
		parts = append(parts, "has ended, is connected to again when it is needed")
	default:
		parts = append(parts, s.State)
	}
	if s.Connections > 1 {
		parts[0] += fmt.Sprintf(" %d times", s.Connections)
	}
	parts = append(parts, s.Protocols...)
	for _, pid := range s.PIDs {
		parts = append(parts, "pid "+strconv.Itoa(pid))
	}
	if s.Calls > 0 {
		parts = append(parts, fmt.Sprintf("calls %d, in flight %d", s.Calls, s.InFlight))
	}
	if s.Error != "" {
		parts = append(parts, "last error at "+Moment(s.ErrorAt, now)+": "+s.Error)
	}
	if s.Lowered {
		parts = append(parts, "trusted less than the configuration says, since it has broken its contract: run weir servers")
	}
	if s.Unreviewed > 0 {
		parts = append(parts, fmt.Sprintf("%d definitions that nobody has reviewed: run weir review", s.Unreviewed))
	}
	return strings.Join(parts, ", ")
}

// Moment writes a time as the user's clock shows it, with the day if that is not today.
func Moment(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format(time.DateTime)
}
