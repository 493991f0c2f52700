package guard

import (
	"context"
	"errors"

	"github.com/weir-mcp/weir/internal/hosterror"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// Failed is After for a call that reached its server and has no answer that can be used: the connection broke, time ran out,
// the host cancelled it, or the server sent something that is no answer. The server has had its chance to act, and to speak
// in other ways than by a result, so the agent session rises by the contract of the call as it does by a result that says
// nothing of itself.
func (g *Guard) Failed(ctx context.Context, c *Call) error {
	c = g.located(c).forArguments()
	state, err := g.open(ctx, c)
	if err != nil {
		return err
	}
	lasting, err := g.read(ctx, c, c.facts(policy.OnResult, state).Resources)
	if err != nil {
		return err
	}
	l := label.Join(label.Join(c.Effective.Label(), c.ruled(nil)), lasting).Normal()
	l.Attribution = l.Attribution.Union(label.SetOf(c.URI()))
	g.expect(c, l)
	if _, err := g.raise(ctx, c, state.Label, l); err != nil {
		return err
	}
	g.origins.add(c.Session, Origin{URI: c.URI(), Label: l.Taint()})
	return nil
}

// denied is the verdict where an error of Weir's own keeps a call from being decided. Its message is for hosts; the error, which
// may quote a store or a rule, is for logs.
func denied(err error) Verdict {
	return Verdict{Effect: policy.Block, Rule: RuleInternal, Message: hosterror.Text(err), Err: err}
}

// withheld is denied for an answer.
func withheld(err error) Outcome {
	return Outcome{Effect: policy.Block, Rule: RuleInternal, Message: hosterror.Text(err), Err: err}
}

// Denied returns the verdict of an error that kept a caller from asking Before.
func Denied(err error) Verdict { return denied(err) }

// Withheld returns the outcome of an error that keeps an answer from the agent.
func Withheld(err error) Outcome { return withheld(err) }

// errNoAnswer says that a server broke JSON-RPC.
var errNoAnswer = errors.New("a server answered with neither or both of result and error")
