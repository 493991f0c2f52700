package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/notify"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newStatus(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the weir processes that are running",
		Long: `Show every weir run and weir wrap of this user: since when it runs, by which configuration,
policy and mode, where it serves, how it stands with each of its servers, how many hosts,
calls and open questions it has, and how the last reload of its configuration went.`,
		Example: "  weir status\n  weir status --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := env.runDir()
			if err != nil {
				return err
			}
			all, err := status.List(cmd.Context(), dir)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(env.Stdout, map[string]any{"processes": append([]status.Process{}, all...)})
			}
			var b strings.Builder
			for _, p := range all {
				printProcess(&b, p, time.Now())
			}
			if len(all) == 0 {
				b.WriteString("no weir is running\n")
			}
			_, err = io.WriteString(env.Stdout, b.String())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the processes as JSON")
	return cmd
}

// runDir returns the directory where running processes can be asked: for as long as the user is logged in, as the XDG Base
// Directory Specification has it, else in the state directory.
func (e *Env) runDir() (string, error) {
	if dir, _ := e.getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "weir"), nil
	}
	dir, err := e.stateDir()
	if err != nil {
		return "", remedy.Usage(fmt.Errorf("no place where running processes could be found"),
			"set XDG_RUNTIME_DIR, XDG_STATE_HOME or HOME")
	}
	return filepath.Join(dir, "run"), nil
}

// A teller tells how a process does.
type teller struct {
	*service
	*reloader
	started time.Time
	people  *notify.Notifier
	asked   *tally       // nil: no log is kept
	db      *sqlstore.DB // nil: none is kept
	refused func() error // why no event can be recorded
	log     *slog.Logger
}

// tellStatus lets weir status ask, until stop is called. A service that cannot be asked serves all the same.
func (e *Env) tellStatus(t *teller) (stop func()) {
	log := t.log
	dir, err := e.runDir()
	if err != nil {
		log.Debug("weir status will not find this process", "error", err)
		return func() {}
	}
	l, err := status.Serve(dir, os.Getpid(), t.process, func() any { return t.details() })
	if err != nil {
		log.Warn("weir status will not find this process", "error", err)
		return func() {}
	}
	return func() { l.Close() }
}

// process tells of the process as it is now.
func (t *teller) process() status.Process {
	t.mu.Lock()
	now, last := t.now, t.last
	t.mu.Unlock()
	g := t.gateway.Status()
	p := status.Process{
		Version: version(), Command: "weir run", Config: now.path, Started: t.started.UTC().Round(0), Policy: policyName(now.config),
		Digest: g.Policy.Digest(), Mode: g.Mode.String(), Hosts: g.Hosts, Questions: g.Questions, Budget: g.Budget,
	}
	if abs, err := filepath.Abs(now.path); err == nil {
		p.Config = abs
	}
	if t.service.reload == nil {
		p.Command, p.Config = "weir wrap", ""
	}
	if at := t.serves.Load(); at != nil {
		p.Serves = *at
	}
	for _, s := range now.config.Servers {
		one := status.Server{Name: s.Name, Transport: string(s.Transport), Trust: s.Trust.String(), Disabled: s.Disabled}
		if i := slices.IndexFunc(g.Servers, func(g gateway.ServerStatus) bool { return g.Name == s.Name }); i >= 0 {
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
		p.Session = &status.Session{Key: n.Session(), Host: n.Host, Folder: n.Folder, Began: n.Began, New: gateway.NewSession(*n)}
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
func (t *teller) storeHealth() *status.Store {
	if t.db == nil {
		return nil
	}
	h := t.db.Health()
	s := &status.Store{State: string(h.State), Since: h.Since.UTC().Round(0)}
	if h.Err != nil {
		s.Error, s.Hint = h.Err.Error(), storeHint(h.Err, t.config.Store)
	}
	if r := t.db.Refused(); r.Rows > 0 {
		s.Refused = &status.Refused{Rows: r.Rows, Last: r.Last.UTC().Round(0), Error: r.Err.Error(), Hint: rowHint}
	}
	return s
}

// figures tells how much people are asked; nil if that is not known.
func (t *teller) figures() *status.Approvals {
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

// told tells what became of notifications.
func (t *teller) told() (all []status.Notification) {
	for _, c := range t.people.Counts() {
		all = append(all, status.Notification{Channel: c.Channel, Result: string(c.Result), Count: c.N})
	}
	return all
}

// fill tells how the gateway stands with a server.
func fill(s *status.Server, g gateway.ServerStatus) {
	s.State, s.Connections, s.Protocols, s.PIDs = string(g.State), g.Connections, g.Protocols, g.PIDs
	s.Calls, s.InFlight, s.Unreviewed = g.Calls, g.InFlight, g.Unreviewed
	if g.State == gateway.Failed {
		s.Retry = g.Retry.UTC().Round(0)
	}
	if g.Err != nil {
		s.Error, s.ErrorAt = g.Err.Error(), g.ErrTime.UTC().Round(0)
	}
}

// printBudget writes what is taken of each resource, and how often that was not enough.
func printBudget(w io.Writer, p status.Process) {
	var parts []string
	for _, u := range p.Budget {
		part := fmt.Sprintf("%d of %d %s", u.Used, u.Limit, plain.Text(u.Of, maxTold))
		if u.Refused+u.Evicted > 0 {
			part += fmt.Sprintf(" (at the limit %d were refused, %d evicted)", u.Refused, u.Evicted)
		}
		parts = append(parts, part)
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "    takes %s\n", strings.Join(parts, ", "))
	}
}

// maxTold is how many characters of what a process tells are shown.
const maxTold = 1000

// printProcess writes what a process tells, for people.
func printProcess(w io.Writer, p status.Process, now time.Time) {
	if p.Error != "" {
		fmt.Fprintf(w, "%d  does not answer: %s\n", p.PID, plain.Text(p.Error, maxTold))
		return
	}
	fmt.Fprintf(w, "%d  %s", p.PID, plain.Text(p.Command, maxTold))
	if p.Config != "" {
		fmt.Fprintf(w, " --config %s", plain.Text(p.Config, maxTold))
	}
	fmt.Fprintf(w, ", on %s, since %s\n", plain.Text(p.Serves, maxTold), moment(p.Started, now))
	fmt.Fprintf(w, "    mode %s, policy %s (%.12s)\n", plain.Text(p.Mode, maxTold), plain.Text(p.Policy, maxTold), plain.Text(p.Digest, maxTold))
	fmt.Fprintf(w, "    hosts %d, calls %d, in flight %d, questions %d\n", p.Hosts, p.Calls, p.InFlight, p.Questions)
	if p.Log != "" {
		fmt.Fprintf(w, "    nothing is recorded, so calls are refused: %s; see weir audit verify\n", plain.Text(p.Log, maxTold))
	}
	if p.Store != nil {
		printStore(w, p.Store, now)
	}
	if s := p.Session; s != nil {
		fmt.Fprintf(w, "    agent session of %s, since %s; %s begins another\n", conversation.Note{Host: s.Host, Folder: s.Folder}.Of(),
			moment(s.Began, now), plain.Text(s.New, maxTold))
	}
	printBudget(w, p)
	printPeople(w, p)
	if r := p.Reload; r != nil {
		what := "was taken over"
		if !r.Taken {
			what = "was not taken over, the one before goes on"
		}
		fmt.Fprintf(w, "    the configuration %s at %s\n", what, moment(r.At, now))
		for _, q := range r.Problems {
			place := ""
			if q.Place != "" {
				place = q.Place + ": "
			}
			fmt.Fprintf(w, "      %s\n", plain.Text(place+q.Message, maxTold))
			if q.Hint != "" {
				fmt.Fprintf(w, "      hint: %s\n", plain.Text(q.Hint, maxTold))
			}
		}
	}
	width := 0
	for _, s := range p.Servers {
		width = max(width, len(s.Name))
	}
	for _, s := range p.Servers {
		fmt.Fprintf(w, "    %-*s  %-5s %-9s  %s\n", width, plain.Text(s.Name, maxTold), plain.Text(s.Transport, maxTold), plain.Text(s.Trust, maxTold), plain.Text(standing(s, now), maxTold))
	}
}

// printStore writes what is wrong with the store, if anything is.
func printStore(w io.Writer, s *status.Store, now time.Time) {
	if s.State != string(sqlstore.OK) {
		fmt.Fprintf(w, "    store %s since %s, calls are refused: %s\n", plain.Text(s.State, maxTold), moment(s.Since, now), plain.Text(s.Error, maxTold))
		if s.Hint != "" {
			fmt.Fprintf(w, "      hint: %s\n", plain.Text(s.Hint, maxTold))
		}
	}
	if r := s.Refused; r != nil {
		fmt.Fprintf(w, "    rows of the state refused as damaged: %d, the last at %s: %s\n", r.Rows, moment(r.Last, now), plain.Text(r.Error, maxTold))
		fmt.Fprintf(w, "      hint: %s\n", plain.Text(r.Hint, maxTold))
	}
}

// printPeople writes how much people are asked and told.
func printPeople(w io.Writer, p status.Process) {
	if a := p.Approvals; a != nil && a.Asked > 0 {
		fmt.Fprintf(w, "    people were asked %d times: accepted %d, denied %d, expired %d, open %d; answers took %.1f s at the median, %.1f s at p90\n",
			a.Asked, a.Accepted, a.Denied, a.Expired, a.Open, a.Median, a.P90)
	}
	var parts []string
	for _, n := range p.Notifications {
		parts = append(parts, plain.Text(fmt.Sprintf("%s %s %d", n.Channel, n.Result, n.Count), maxTold))
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "    notifications: %s\n", strings.Join(parts, ", "))
	}
}

// standing says how a process stands with a server.
func standing(s status.Server, now time.Time) string {
	if s.Disabled {
		return "disabled"
	}
	var parts []string
	switch gateway.State(s.State) {
	case gateway.Idle:
		parts = append(parts, "not needed yet")
	case gateway.Failed:
		if s.Retry.After(now) {
			parts = append(parts, "cannot be reached, is not tried again before "+moment(s.Retry, now))
		} else {
			parts = append(parts, "cannot be reached, is tried again when it is needed")
		}
	case gateway.NeedsLogin:
		parts = append(parts, "needs login")
	case gateway.Ended:
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
		parts = append(parts, "last error at "+moment(s.ErrorAt, now)+": "+s.Error)
	}
	if s.Unreviewed > 0 {
		parts = append(parts, fmt.Sprintf("%d definitions that nobody has reviewed: run weir review", s.Unreviewed))
	}
	return strings.Join(parts, ", ")
}

// moment writes a time as the user's clock shows it, with the day if that is not today.
func moment(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format(time.DateTime)
}
