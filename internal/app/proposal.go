package app

import (
	"context"
	"time"

	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/notify"
	"github.com/weir-mcp/weir/internal/setup"
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
	accepted chan *setup.Setup

	waiting *setup.Setup // nil: none
	pending *approve.Pending
	end     context.CancelFunc
}

func newProposals(kept *state, people *notify.Notifier) proposals {
	return proposals{record: kept.record, accepted: make(chan *setup.Setup), book: approve.NewBook(approve.Options{
		Timeout: proposalLife, Record: kept.record, Store: kept.backend, Asked: asked(people),
	})}
}

// drop forgets the waiting setup: the files have changed.
func (p *proposals) drop() {
	if p.waiting == nil {
		return
	}
	p.end()
	_ = p.book.Answer(context.Background(), approve.Reply{
		ID: p.pending.ID, Principal: p.pending.Principal, Answer: approve.Cancelled, Via: "the files have changed",
	})
	p.waiting, p.pending = nil, nil
}

// reloadBinding begins the binding of a question about a configuration, which no call has.
const reloadBinding = "reload:"

// await hands on a setup once a person has accepted it.
func (p *proposals) await(ctx context.Context, q *approve.Pending, s *setup.Setup) {
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
