package analyze

import (
	"context"
	"slices"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/report"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// A Path is a tool by which data can leave, and the decisions of policy on it by the label of the session, where an
// attacker has chosen the arguments.
type Path struct {
	Tool      string  `json:"tool"`
	Fresh     Verdict `json:"fresh"`     // a session that has seen nothing
	Untrusted Verdict `json:"untrusted"` // one that has read untrusted content
	Private   Verdict `json:"private"`   // one that holds private data
	Both      Verdict `json:"both"`
}

// A Verdict is the range of decisions: by facts that are open, anything from the strictest to the mildest.
type Verdict struct {
	Strictest policy.Effect `json:"strictest"`
	Mildest   policy.Effect `json:"mildest"`
}

// String returns "ask", or "ask to allow".
func (v Verdict) String() string {
	if v.Strictest == v.Mildest {
		return v.Mildest.String()
	}
	return v.Strictest.String() + " to " + v.Mildest.String()
}

// A Report is everything that a set of tools makes possible, without a policy and with it.
type Report struct {
	Tools     int      `json:"tools"`
	Untrusted []string `json:"untrusted"` // tools by which untrusted content comes in
	Private   []string `json:"private"`   // and private data
	Out       []Path   `json:"out"`       // and by which data can leave
	Before    Result   `json:"before"`    // the trifecta, if everything is allowed
	After     Result   `json:"after"`     // and under the policy
}

// Examine returns the report on a set of tools under a policy.
func Examine(ctx context.Context, p *policy.Policy, tools []Tool) (Report, error) {
	r := Report{Tools: len(tools), Untrusted: []string{}, Private: []string{}, Out: []Path{}}
	for _, t := range tools {
		untrusted, private := t.Brings()
		if untrusted {
			r.Untrusted = append(r.Untrusted, t.String())
		}
		if private {
			r.Private = append(r.Private, t.String())
		}
		if t.MayReach(contract.Public) {
			r.Out = append(r.Out, path(p, t))
		}
	}
	open, err := policy.Load("everything", []byte("version: 1\ndefault: allow\nrules: []\n"))
	if err != nil {
		return r, err
	}
	if r.Before, err = Explore(ctx, Question{Policy: open, Tools: tools, Goal: Trifecta()}); err != nil {
		return r, err
	}
	r.After, err = Explore(ctx, Question{Policy: p, Tools: tools, Goal: Trifecta(), Attacker: true})
	return r, err
}

func path(p *policy.Policy, t Tool) Path {
	e := newExplorer(Question{Policy: p, Tools: []Tool{t}, Goal: Trifecta(), Attacker: true})
	verdict := func(session label.Label) Verdict {
		s := e.span(t, e.facts(t, session))
		return Verdict{s.Strictest, s.Mildest}
	}
	return Path{
		Tool: t.String(), Fresh: verdict(label.Label{}), Untrusted: verdict(label.Label{Untrusted: true}),
		Private: verdict(label.Label{Private: true}), Both: verdict(label.Label{Untrusted: true, Private: true}),
	}
}

// Rules are the findings that [Report.Findings] may return.
func Rules() []report.Rule {
	return []report.Rule{
		{ID: "trifecta-open", Summary: "Untrusted content, private data and a way out can come together unasked", Severity: report.Error},
		{ID: "trifecta-guarded", Summary: "They can come together, and policy asks or blocks before data leaves", Severity: report.Note},
		{ID: "trifecta-impossible", Summary: "They cannot come together with these tools", Severity: report.Note},
	}
}

// Findings returns the report as findings, for those who read these.
func (r Report) Findings() report.Findings {
	f := report.Findings{Tool: "analyze", Rules: Rules()}
	switch {
	case r.Before.Proved:
		f.All = append(f.All, report.Finding{Rule: "trifecta-impossible", Severity: report.Note,
			Message: "no sequence of calls brings untrusted content, private data and a way out together"})
	case r.After.Proved:
		f.All = append(f.All, report.Finding{Rule: "trifecta-guarded", Severity: report.Note,
			Message: "untrusted content, private data and a way out can come together, and policy asks or blocks before data leaves"})
	default:
		f.All = append(f.All, report.Finding{Rule: "trifecta-open", Severity: report.Error,
			Message: "data can leave unasked after untrusted content and private data were read", Details: r.After.Lines(),
			Hint: "add a rule, or describe the tools more closely in an overlay"})
	}
	return f
}

// Lines returns the counterexample for people, one line a call.
func (r Result) Lines() (lines []string) {
	for i, s := range r.Counterexample {
		line := s.Tool + " may be called"
		if i < len(r.Counterexample)-1 {
			line += ", then the session is " + s.Label
		} else {
			line += " by a session that is " + s.Label
		}
		if len(s.Unless) > 0 {
			line += "; by what it is called with, these rules may stop it: " + join(s.Unless)
		}
		lines = append(lines, line)
	}
	return lines
}

func join(names []string) string {
	names = slices.Sorted(slices.Values(names))
	out := names[0]
	for _, n := range names[1:] {
		out += ", " + n
	}
	return out
}
