package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/notify"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/record"
)

// ruleLoosens is the rule that events and questions name when a configuration waits for a person.
const ruleLoosens = "weir:loosens"

// proposalLife is how long a configuration that loosens waits for a person.
const proposalLife = 24 * time.Hour

// Proposals are the configurations that wait for a person, of which the last one counts.
type proposals struct {
	book     *approve.Book
	record   record.Recorder
	accepted chan *setup

	waiting *setup // nil: none
	pending *approve.Pending
	end     context.CancelFunc
}

func newProposals(kept *state, people *notify.Notifier) proposals {
	return proposals{record: kept.record, accepted: make(chan *setup), book: approve.NewBook(approve.Options{
		Timeout: proposalLife, Record: kept.record, Store: kept.backend, Asked: asked(people),
	})}
}

// drop forgets what waits: it is not what the files say any more.
func (p *proposals) drop() {
	if p.waiting == nil {
		return
	}
	p.end()
	_ = p.book.Answer(context.Background(), approve.Reply{ID: p.pending.ID, Principal: p.pending.Principal, Answer: approve.Cancelled, Via: "the files have changed"})
	p.waiting, p.pending = nil, nil
}

// propose asks a person whether a setup may be taken over that loosens weir in these ways. Until then everything stays.
func (r *reloader) propose(ctx context.Context, s *setup, ways []string) {
	p := &r.proposals
	if p.waiting != nil && p.waiting.same(s) {
		if open, err := p.book.Waits(ctx, p.pending.ID); err == nil && open || p.book.Stands(ctx, p.pending.ID) {
			return // or it was accepted just now
		}
	}
	p.drop()
	what := strings.Join(ways, "; ")
	sum := sha256.Sum256([]byte(s.policy.Digest() + s.own.Digest() + what))
	pending, err := p.book.Propose(ctx, approve.Proposal{
		Principal: gateway.LocalPrincipal, File: s.path, Binding: reloadBinding + hex.EncodeToString(sum[:]), Rule: ruleLoosens, Ways: ways,
	})
	if err == nil {
		e := record.New(record.Reload, time.Now())
		e.Effect, e.Rule, e.Message = s.config.Mode.String(), ruleLoosens, "waits for a person: "+what
		if more := differences(r.now, s); more != "" {
			e.Message += "; " + more
		}
		err = p.record.Record(ctx, e)
	}
	if err != nil {
		r.refuse(s, fmt.Errorf("asking about a configuration that loosens weir: %w", err), reloading{}, false)
		return
	}
	waits, end := context.WithCancel(ctx)
	p.waiting, p.pending, p.end = s, pending, end
	go p.await(waits, pending, s)
	const hint = "weir reload --accept"
	r.log.Warn("the configuration loosens weir and waits for a person; the one before goes on", "config", s.path, "changes", what, "hint", hint)
	r.failed(s, reloading{time.Now(), false, []problem{{File: s.path, Message: "it loosens weir and waits for a person: " + what, Hint: hint}}})
}

// reloadBinding begins the binding of a question about a configuration, which no call has.
const reloadBinding = "reload:"

// await hands on a setup once a person has accepted it.
func (p *proposals) await(ctx context.Context, q *approve.Pending, s *setup) {
	said, err := p.book.Await(ctx, q.ID)
	if err != nil || !said.Yes() {
		return
	}
	if ok, err := p.book.Redeem(ctx, q.Binding); err != nil || !ok {
		return
	}
	select {
	case p.accepted <- s:
	case <-ctx.Done():
	}
}

func newReload(env *Env) *cobra.Command {
	var a asking
	var accept bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Show and accept configurations that loosen weir",
		Long: `Show the changes of a configuration that a running weir has not taken over, because they loosen what
it enforces: another mode, a rule that went, more trust, a new server, a new folder. With --accept
they are taken over. Changes that make it stricter are taken over at once, without this.`,
		Example: "  weir reload\n  weir reload --accept",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withBook(cmd.Context(), &a, func(book *approve.Book) error {
				open, err := env.proposed(cmd.Context(), book, a.principal)
				if err != nil {
					return err
				}
				if len(open) == 0 {
					_, err := io.WriteString(env.Stdout, "no configuration waits for a person\n")
					return err
				}
				if err := env.printQuestions(open, time.Now()); err != nil || !accept {
					return err
				}
				var errs []error
				for _, p := range open {
					errs = append(errs, book.Answer(cmd.Context(), approve.Reply{ID: p.ID, Principal: a.principal, Answer: approve.Accepted, Via: commandLine}))
				}
				return errors.Join(errs...)
			})
		},
	}
	a.add(cmd)
	cmd.Flags().BoolVar(&accept, "accept", false, "take over what waits")
	return cmd
}

// proposed returns the questions about configurations. A running weir whose question has expired is told to read its files again.
func (e *Env) proposed(ctx context.Context, book *approve.Book, principal string) (open []*approve.Pending, err error) {
	for try := range 20 {
		all, err := book.List(ctx, principal)
		if err != nil {
			return nil, err
		}
		open = slices.DeleteFunc(all, func(p *approve.Pending) bool { return p.Method != approve.MethodReload })
		if len(open) > 0 || try == 0 && !e.nudge(ctx) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return open, nil
}

// nudge has every running weir that has not taken over its configuration read it again, and reports whether there is one.
func (e *Env) nudge(ctx context.Context) (any bool) {
	dir, err := e.runDir()
	if err != nil {
		return false
	}
	all, _ := status.List(ctx, dir)
	for _, p := range all {
		if p.Reload != nil && !p.Reload.Taken && hangUp(p.PID) == nil {
			any = true
		}
	}
	return any
}

func hangUp(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return process.Signal(syscall.SIGHUP)
}
