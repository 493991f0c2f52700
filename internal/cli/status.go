package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/store/sqlstore"
)

func newStatus(env *home.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the weir processes that are running",
		Long: `Show every weir run, weir wrap and weir serve of this user: since when it runs, by which configuration,
policy and mode, where it serves, how it stands with each of its servers, how many hosts,
calls and open questions it has, and how the last reload of its configuration went.`,
		Example: "  weir status\n  weir status --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := env.RunDir()
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

// printBudget writes the use of each resource, and how often the resource was not enough.
func printBudget(w io.Writer, p status.Process) {
	var parts []string
	for _, u := range p.Budget {
		part := fmt.Sprintf("%d of %d %s", u.Used, u.Limit, plain.Text(u.Of, app.MaxTold))
		if u.Refused+u.Evicted > 0 {
			part += fmt.Sprintf(" (at the limit %d were refused, %d evicted)", u.Refused, u.Evicted)
		}
		parts = append(parts, part)
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "    takes %s\n", strings.Join(parts, ", "))
	}
}

// printProcess writes the status of a process, for people.
func printProcess(w io.Writer, p status.Process, now time.Time) {
	if p.Error != "" {
		fmt.Fprintf(w, "%d  does not answer: %s\n", p.PID, plain.Text(p.Error, app.MaxTold))
		return
	}
	fmt.Fprintf(w, "%d  %s", p.PID, plain.Text(p.Command, app.MaxTold))
	if p.Config != "" {
		fmt.Fprintf(w, " --config %s", plain.Text(p.Config, app.MaxTold))
	}
	fmt.Fprintf(w, ", on %s, since %s\n", plain.Text(p.Serves, app.MaxTold), app.Moment(p.Started, now))
	if p.Policy != "" {
		fmt.Fprintf(w, "    mode %s, policy %s (%.12s)\n", plain.Text(p.Mode, app.MaxTold),
			plain.Text(p.Policy, app.MaxTold), plain.Text(p.Digest, app.MaxTold))
	}
	fmt.Fprintf(w, "    hosts %d, calls %d, in flight %d, questions %d\n", p.Hosts, p.Calls, p.InFlight, p.Questions)
	if p.Log != "" {
		fmt.Fprintf(w, "    nothing is recorded, so calls are refused: %s; see weir audit verify\n", plain.Text(p.Log, app.MaxTold))
	}
	if p.Store != nil {
		printStore(w, p.Store, now)
	}
	if s := p.Session; s != nil {
		fmt.Fprintf(w, "    agent session of %s, since %s; %s begins another\n", conversation.Note{Host: s.Host, Folder: s.Folder}.Of(),
			app.Moment(s.Began, now), plain.Text(s.New, app.MaxTold))
	}
	printBudget(w, p)
	printPeople(w, p)
	if r := p.Reload; r != nil {
		what := "was taken over"
		if !r.Taken {
			what = "was not taken over, the one before goes on"
		}
		fmt.Fprintf(w, "    the configuration %s at %s\n", what, app.Moment(r.At, now))
		for _, q := range r.Problems {
			place := ""
			if q.Place != "" {
				place = q.Place + ": "
			}
			fmt.Fprintf(w, "      %s\n", plain.Text(place+q.Message, app.MaxTold))
			if q.Hint != "" {
				fmt.Fprintf(w, "      hint: %s\n", plain.Text(q.Hint, app.MaxTold))
			}
		}
	}
	width := 0
	for _, s := range p.Servers {
		width = max(width, len(s.Name))
	}
	for _, s := range p.Servers {
		fmt.Fprintf(w, "    %-*s  %-5s %-9s  %s\n", width, plain.Text(s.Name, app.MaxTold),
			plain.Text(s.Transport, app.MaxTold), plain.Text(s.Trust, app.MaxTold),
			plain.Text(app.ServerState(s, now), app.MaxTold))
	}
}

// printStore writes the failure of the store, if there is one.
func printStore(w io.Writer, s *status.Store, now time.Time) {
	if s.State != string(sqlstore.OK) {
		fmt.Fprintf(w, "    store %s since %s, calls are refused: %s\n", plain.Text(s.State, app.MaxTold),
			app.Moment(s.Since, now), plain.Text(s.Error, app.MaxTold))
		if s.Hint != "" {
			fmt.Fprintf(w, "      hint: %s\n", plain.Text(s.Hint, app.MaxTold))
		}
	}
	if r := s.Refused; r != nil {
		fmt.Fprintf(w, "    rows of the state refused as damaged: %d, the last at %s: %s\n", r.Rows,
			app.Moment(r.Last, now), plain.Text(r.Error, app.MaxTold))
		fmt.Fprintf(w, "      hint: %s\n", plain.Text(r.Hint, app.MaxTold))
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
		parts = append(parts, plain.Text(fmt.Sprintf("%s %s %d", n.Channel, n.Result, n.Count), app.MaxTold))
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "    notifications: %s\n", strings.Join(parts, ", "))
	}
}
