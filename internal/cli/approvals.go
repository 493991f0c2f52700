package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/approval"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// commandLine is this channel of answers, as the record names it.
const commandLine = "command line"

func newApprovals(env *home.Env) *cobra.Command {
	var a answerFlags
	var asJSON, stats bool
	cmd := &cobra.Command{
		Use:   "approvals [ID]",
		Short: "Show the questions that wait for a person",
		Long: `Show the questions that wait for a person, the oldest first: the call, its destination, its
arguments, and the reason for asking. Answer them with weir approve and weir deny. With the
start of an ID, show one of them with everything that its prompt leaves out; the code that weir
approve needs then stands at the end. With --stats, show the number of questions, the answers, and
the time that they took. weir approvals suggest proposes changes of the policy from past answers.`,
		Example: "  weir approvals\n  weir approvals K7Q2\n  weir approvals --stats\n  weir approvals --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if stats {
				return showStats(cmd.Context(), env, a.store, asJSON)
			}
			return withBook(cmd.Context(), env, &a, func(book *approve.Book) error {
				open, err := book.List(cmd.Context(), a.principal)
				if err != nil {
					return err
				}
				if len(args) == 1 {
					p, err := oneOf(open, args[0])
					if err != nil {
						return err
					}
					return printListing(env, p, asJSON)
				}
				if asJSON {
					return writeJSON(env.Stdout, map[string]any{"questions": questionReports(open)})
				}
				if len(open) == 0 {
					_, err := io.WriteString(env.Stdout, "nothing waits for an answer\n")
					return err
				}
				return printQuestions(env, open)
			})
		},
	}
	a.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the questions as JSON")
	cmd.Flags().BoolVar(&stats, "stats", false, "show how much is asked and answered")
	cmd.AddCommand(newSuggest(env))
	return cmd
}

// A questionReport is an open question as JSON. Name is as a server wrote it.
type questionReport struct {
	ID         string          `json:"id"`
	Principal  string          `json:"principal"`
	Session    string          `json:"session"`
	Server     string          `json:"server"`
	Method     string          `json:"method"`
	Name       string          `json:"name"`
	Rule       string          `json:"rule"`
	Asked      time.Time       `json:"asked"`
	Expires    time.Time       `json:"expires"`
	ForSession bool            `json:"maySession"` // whether it may be accepted for the session and the destination
	Prompt     approval.Prompt `json:"prompt"`
}

func questionReports(open []*approve.Pending) []questionReport {
	all := []questionReport{}
	for _, p := range open {
		all = append(all, questionReport{p.ID, p.Principal, p.Session, p.Server, p.Method, p.Name, p.Rule,
			p.Asked.UTC(), p.Expires.UTC(), p.Grant != "", p.Prompt})
	}
	return all
}

func questionsText(open []*approve.Pending, now time.Time) string {
	var b strings.Builder
	for _, p := range open {
		fmt.Fprintf(&b, "%s  open for %s, session %s\n", p.ID, p.Expires.Sub(now).Round(time.Second), plain.Text(p.Session, 80))
		for line := range strings.Lines(p.Prompt.Text()) {
			b.WriteString("    " + plain.Text(strings.TrimSuffix(line, "\n"), 0) + "\n")
		}
	}
	return b.String()
}

func printQuestions(env *home.Env, open []*approve.Pending) error {
	_, err := io.WriteString(env.Stdout, questionsText(open, time.Now()))
	return err
}

func newApprove(env *home.Env) *cobra.Command {
	var yes gate
	var session bool
	var code string
	cmd := newSay(env, func(ctx context.Context, p *approve.Pending) (approve.Reply, error) {
		if session {
			return approve.Reply{Answer: approve.Granted, Code: code},
				agreed(ctx, env, p, &yes, "Allow the calls of this tool to the same destination, in this session?")
		}
		return approve.Reply{Answer: approve.Accepted, Code: code}, agreed(ctx, env, p, &yes, "Allow it?")
	})
	cmd.Use = "approve ID"
	cmd.Short = "Approve the call of a question, once"
	cmd.Long = `Show a question and, if you say yes, accept it: the call that it is about may happen once, for
exactly the arguments that are shown, as long as its session has seen nothing more. With --session,
calls of that tool to the same destination may happen in that session too, for 12 hours; only where
an overlay says which arguments are the destination. The start of an id will do. A request that is
too long to be shown as a whole needs the --code that stands at the end of weir approvals ID.
The question is put to the terminal: standard input does not answer it, and neither does what was
typed before. Hooks let no agent run this command. --yes is for scripts, where the documentation
says how (docs/approvals.md); without that a person is asked all the same.`
	cmd.Example = "  weir approve K7Q2\n  weir approve K7Q2 --session\n  weir approve K7Q2 --code H4TB"
	cmd.Flags().StringVar(&code, "code", "", "the `CODE` at the end of the listing of a request that does not show everything")
	yes.flag(cmd, env, "yes", "approve it")
	cmd.Flags().BoolVar(&session, "session", false, "also accept calls to the same destination in this session")
	return cmd
}

func newDeny(env *home.Env) *cobra.Command {
	var end bool
	var why string
	cmd := newSay(env, func(context.Context, *approve.Pending) (approve.Reply, error) {
		if end {
			return approve.Reply{Answer: approve.Ended, Why: why}, nil
		}
		return approve.Reply{Answer: approve.Declined}, nil
	})
	cmd.Use = "deny ID"
	cmd.Short = "Deny the call of a question"
	cmd.Long = `Deny the call of a question. With --end, its agent session ends too, as with weir session end. The
start of an id will do.`
	cmd.Example = "  weir deny K7Q2\n  weir deny K7Q2 --end --why 'it was led astray'"
	cmd.Flags().BoolVar(&end, "end", false, "also end the agent session")
	cmd.Flags().StringVar(&why, "why", "", "the `REASON` for the end, for the log (default the rule that asked)")
	return cmd
}

// A replier returns the answer to a question, which may ask a person before.
type replier func(context.Context, *approve.Pending) (approve.Reply, error)

// newSay returns a command that answers the question whose id begins with its argument, with the result of reply.
func newSay(env *home.Env, reply replier) *cobra.Command {
	var a answerFlags
	cmd := &cobra.Command{
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return say(cmd.Context(), env, &a, args[0], reply) },
	}
	a.add(cmd)
	return cmd
}

// say answers the question whose id begins with a text.
func say(ctx context.Context, env *home.Env, a *answerFlags, start string, reply replier) error {
	return withBook(ctx, env, a, func(book *approve.Book) error {
		open, err := book.List(ctx, a.principal)
		if err != nil {
			return err
		}
		p, err := oneOf(open, start)
		if err != nil {
			return err
		}
		r, err := reply(ctx, p)
		if err != nil {
			return err
		}
		r.ID, r.Principal, r.Via, r.By = p.ID, p.Principal, commandLine, env.Person()
		err = book.Answer(ctx, r)
		if errors.Is(err, approve.ErrUnseen) {
			return remedy.Failure(err, "read weir approvals "+p.ID+", then approve it with --code")
		}
		if errors.Is(err, approve.ErrNoGrant) {
			return remedy.Failure(err, "approve it without --session, or write an overlay for the tool")
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.Stdout, "%s: %s\n", r.ID, r.Answer)
		return err
	})
}

// agreed returns an error unless a person at the terminal sees a question and accepts it, or a script does, which
// gets it on standard error.
func agreed(ctx context.Context, env *home.Env, p *approve.Pending, yes *gate, ask string) error {
	shown := questionsText([]*approve.Pending{p}, time.Now())
	if yes.scripted(env) {
		_, err := io.WriteString(env.Stderr, shown)
		return err
	}
	return yes.pass(ctx, env, "approve a request", shown+ask)
}

// oneOf returns the question whose id begins with a text.
func oneOf(open []*approve.Pending, start string) (*approve.Pending, error) {
	open = slices.DeleteFunc(open, func(p *approve.Pending) bool { return start == "" || !strings.HasPrefix(p.ID, strings.ToUpper(start)) })
	if len(open) != 1 {
		return nil, remedy.Failure(fmt.Errorf("%d open questions have an id that begins with %.64q", len(open), start), "see weir approvals")
	}
	return open[0], nil
}

// printListing prints a question with everything that its prompt leaves out.
func printListing(env *home.Env, p *approve.Pending, asJSON bool) error {
	if asJSON {
		return writeJSON(env.Stdout, struct {
			questionReport
			Listing approval.Listing `json:"listing"`
		}{questionReports([]*approve.Pending{p})[0], p.Listing})
	}
	if err := printQuestions(env, []*approve.Pending{p}); err != nil {
		return err
	}
	_, err := io.WriteString(env.Stdout, p.Listing.Text())
	return err
}

func newWatch(env *home.Env) *cobra.Command {
	var a answerFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "watch",
		Short:   "Print questions as they come up, until interrupted",
		Long:    "Print each question that waits for a person, those that are open first and then new ones as they come up.",
		Example: "  weir watch\n  weir watch --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withBook(cmd.Context(), env, &a, func(book *approve.Book) error {
				err := watchQuestions(cmd.Context(), env, book, a.principal, asJSON)
				if cmd.Context().Err() != nil {
					return nil
				}
				return err
			})
		},
	}
	a.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a question a line, as JSON")
	return cmd
}

func watchQuestions(ctx context.Context, env *home.Env, book *approve.Book, principal string, asJSON bool) error {
	seen := map[string]bool{}
	tick := time.NewTicker(tailEvery)
	defer tick.Stop()
	for {
		open, err := book.List(ctx, principal)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(slices.Clone(open), func(p *approve.Pending) bool { return seen[p.ID] })
		clear(seen)
		for _, p := range open {
			seen[p.ID] = true
		}
		if asJSON {
			for _, r := range questionReports(fresh) {
				if err := json.NewEncoder(env.Stdout).Encode(r); err != nil {
					return err
				}
			}
		} else if err := printQuestions(env, fresh); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// showStats prints how much is asked and answered.
func showStats(ctx context.Context, env *home.Env, place string, asJSON bool) error {
	return readStore(ctx, env, place, func(db *sqlstore.DB, _ string) error {
		s, err := app.ReadApprovalStats(ctx, db)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(env.Stdout, s)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "asked       %d\n", s.Asked)
		for _, a := range slices.Sorted(maps.Keys(s.Answers)) {
			fmt.Fprintf(&b, "%-11s %d\n", plain.Text(string(a), 20), s.Answers[a])
		}
		fmt.Fprintf(&b, "unanswered  %d\nmedian      %.1f s to an answer\np90         %.1f s\nslowest     %.1f s\n",
			s.Unanswered, s.Median, s.P90, s.Slowest)
		for _, rule := range slices.Sorted(maps.Keys(s.Rules)) {
			fmt.Fprintf(&b, "  %d by rule %s\n", s.Rules[rule], plain.Text(rule, 80))
		}
		_, err = io.WriteString(env.Stdout, b.String())
		return err
	})
}
