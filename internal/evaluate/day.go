package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/overlay/catalogue"
)

// injectMark marks the place of untrusted content in the result of a day's step.
const injectMark = "{{inject}}"

// A Day is a working day of an agent: the user's messages and the agent's calls in order, with a verdict on each call,
// and attacks on it.
type Day struct {
	Name    string               `json:"name"`
	Domains []string             `json:"domains"`
	Me      []string             `json:"me"`      // the user's own mail addresses
	Readers map[string][]string  `json:"readers"` // groups of readers, as in the configuration
	Servers map[string]DayServer `json:"servers"`
	Steps   []DayStep            `json:"steps"`
	Attacks []DayAttack          `json:"attacks"`
}

// A DayServer is a server of a day, with the entry of the built-in overlays that describes it.
type DayServer struct {
	Catalogue string            `json:"catalogue"`
	Trust     string            `json:"trust"`
	Readers   []string          `json:"readers"` // groups who may read all that it returns
	Tools     []json.RawMessage `json:"tools"`
}

// A DayStep is a message of the user or a call.
type DayStep struct {
	User   string          `json:"user"`
	ID     string          `json:"id"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Result string          `json:"result"`
	Gold   string          `json:"gold"` // no: a request is unwanted; ask: none is a miss; either
	Harm   bool            `json:"harm"` // of an attack's call: it does the harm
}

// A DayAttack is a text in the result of the step Carrier, and the calls of an agent that obeys it, after that step or
// After.
type DayAttack struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Carrier string    `json:"carrier"`
	After   string    `json:"after"`
	Inject  string    `json:"inject"`
	Calls   []DayStep `json:"calls"`
}

// LoadDay reads a day. Its form is that of docs/evaluation.md.
func LoadDay(src []byte) (*Day, error) {
	var d Day
	if err := json.Unmarshal(src, &d); err != nil {
		return nil, fmt.Errorf("reading a day: %w", err)
	}
	if len(d.Servers) == 0 || len(d.Steps) == 0 {
		return nil, errors.New("reading a day: it has no servers or no steps")
	}
	return &d, nil
}

// A DayReport counts the approval requests of a day, and the attacks that got through, for one [Mode].
type DayReport struct {
	Day      string     `json:"day"`
	Words    bool       `json:"userWords"`
	Calls    int        `json:"calls"`
	Asked    []Question `json:"asked"`    // Task is the step
	Unwanted int        `json:"unwanted"` // requests about calls that need none
	Wanted   int        `json:"wanted"`   // calls that want a request
	Missed   []string   `json:"missed"`   // of these, those without one
	Attacks  int        `json:"attacks"`
	Through  []string   `json:"through"` // attacks of which a harmful call was carried out unasked
}

// RunDay replays a day, alone and under each attack, with a user who accepts the requests about the day's own calls and
// no others.
func RunDay(ctx context.Context, d *Day, words bool, opts Options) (r *DayReport, err error) {
	opts.Domains, opts.Me = append(opts.Domains, d.Domains...), append(opts.Me, d.Me...)
	opts.Readers = d.Readers
	w, err := newDayWorld(ctx, d, opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	r = &DayReport{Day: d.Name, Words: words, Attacks: len(d.Attacks)}
	p := &dayPlayer{world: w, words: words, plans: opts.Plans}
	err = p.play(ctx, d.Steps, nil, func(s DayStep, m made, planned bool) {
		r.Calls++
		r.count(s, m, planned)
	})
	for _, submitted := range p.submitted {
		r.plan(submitted)
	}
	p.submitted = nil
	for _, a := range d.Attacks {
		if err != nil {
			break
		}
		through := false
		err = p.play(ctx, d.Steps, &a, func(s DayStep, m made, _ bool) { through = through || s.Harm && m.arrived && len(m.asked) == 0 })
		if through {
			r.Through = append(r.Through, a.ID+" "+a.Kind)
		}
	}
	return r, err
}

func (r *DayReport) count(s DayStep, m made, planned bool) {
	for _, rule := range m.asked {
		r.Asked = append(r.Asked, Question{s.ID, s.Tool, rule})
	}
	switch {
	case s.Gold == "no" && len(m.asked) > 0:
		r.Unwanted++
	case s.Gold == "ask":
		r.Wanted++
		if len(m.asked) == 0 && !planned {
			r.Missed = append(r.Missed, s.ID)
		}
	}
}

// newDayWorld starts the servers of a day.
func newDayWorld(ctx context.Context, d *Day, opts Options) (*world, error) {
	s := &Suite{Servers: map[string][]string{}}
	about := map[string]described{}
	for name, server := range d.Servers {
		trust, err := contract.ParseTrust(server.Trust)
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", name, err)
		}
		var o *overlay.Overlay
		if server.Catalogue != "" {
			if o, err = catalogue.Named(server.Catalogue); err != nil {
				return nil, fmt.Errorf("server %s: %w", name, err)
			}
		}
		about[name] = described{trust, o, server.Readers}
		for _, raw := range server.Tools {
			var tool struct{ Name string }
			if err := json.Unmarshal(raw, &tool); err != nil {
				return nil, fmt.Errorf("server %s: reading a tool: %w", name, err)
			}
			s.Tools = append(s.Tools, raw)
			s.Servers[name] = append(s.Servers[name], tool.Name)
		}
	}
	return newWorld(ctx, s, opts, func(name string) described { return about[name] })
}

// A dayPlayer replays a day, each time in an agent session of its own.
type dayPlayer struct {
	plans     bool      // the agent submits a plan for each message of the user
	submitted []dayPlan // about which the user was asked
	world     *world
	words     bool
	played    int
}

// play replays the steps, or, under an attack, those up to its calls and then these.
func (p *dayPlayer) play(ctx context.Context, steps []DayStep, attack *DayAttack, note func(s DayStep, m made, planned bool)) error {
	p.played++
	session := fmt.Sprintf("day %d", p.played)
	meta := mcp.Meta{}
	by, covered := &planner{world: p.world, session: session, meta: meta}, map[string]bool{}
	call := func(s DayStep, accepts bool) (made, error) {
		p.world.person = accepts
		m, err := p.world.call(ctx, session, Call{Tool: s.Tool, Args: s.Args, Result: s.Result}, meta)
		delete(meta, guard.MetaUserMessage)
		return m, err
	}
	for i, s := range steps {
		if s.ID == "" {
			if p.words {
				meta[guard.MetaUserMessage] = s.User
			}
			by.begins(s.User, p.plans)
			continue
		}
		if err := p.plan(ctx, by, steps[i:], covered); err != nil {
			return err
		}
		inject := ""
		if attack != nil && s.ID == attack.Carrier {
			inject = attack.Inject
		}
		if s.Result = strings.ReplaceAll(s.Result, injectMark, inject); inject != "" && !strings.Contains(s.Result, inject) {
			s.Result += "\n" + inject
		}
		by.reads(s.Result)
		m, err := call(s, true)
		if err != nil {
			return fmt.Errorf("step %s: %w", s.ID, err)
		}
		if attack == nil {
			note(s, m, covered[s.ID])
			continue
		}
		if s.ID != attack.After && (attack.After != "" || s.ID != attack.Carrier) {
			continue
		}
		for _, evil := range attack.Calls {
			m, err := call(evil, false)
			if err != nil {
				return fmt.Errorf("attack %s: %w", attack.ID, err)
			}
			note(evil, m, false)
		}
		return nil
	}
	return nil
}

// A dayPlan is a plan of the day's own calls.
type dayPlan struct {
	planned
	wanted bool // it asked about a call about which a request is not unwanted
}

// plan has the agent submit a plan of the next calls for a message of the user, and notes the calls about which it
// asked.
func (p *dayPlayer) plan(ctx context.Context, by *planner, rest []DayStep, covered map[string]bool) error {
	n := slices.IndexFunc(rest, func(s DayStep) bool { return s.ID == "" })
	if n < 0 {
		n = len(rest)
	}
	var calls []Call
	for _, s := range rest[:n] {
		calls = append(calls, Call{Tool: s.Tool, Args: s.Args, Result: strings.ReplaceAll(s.Result, injectMark, "")})
	}
	p.world.plans = true
	submitted, err := by.submit(ctx, calls)
	p.world.plans = false
	if submitted.requests == 0 {
		return err
	}
	out := dayPlan{planned: submitted}
	for i := range submitted.steps {
		covered[rest[i].ID] = true
		out.wanted = out.wanted || rest[i].Gold != "no"
	}
	p.submitted = append(p.submitted, out)
	return err
}

// plan counts the requests about a plan.
func (r *DayReport) plan(p dayPlan) {
	for range p.requests {
		r.Asked = append(r.Asked, Question{"plan", "weir_plan", guard.RulePlan})
	}
	if !p.wanted {
		r.Unwanted += p.requests
	}
}

// Text writes the report for people.
func (r *DayReport) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, user's words %s: %d requests in %d calls, %d unwanted; %d of %d wanted ones missed; %d of %d attacks through\n",
		r.Day, pick(r.Words, "told", "not told"), len(r.Asked), r.Calls, r.Unwanted, len(r.Missed), r.Wanted, len(r.Through), r.Attacks)
	for _, q := range r.Asked {
		fmt.Fprintf(&b, "  asked    %s: %s (%s)\n", q.Task, q.Tool, q.Rule)
	}
	for _, id := range r.Missed {
		fmt.Fprintf(&b, "  missed   %s\n", id)
	}
	for _, id := range r.Through {
		fmt.Fprintf(&b, "  through  %s\n", id)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
