package app

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/setup"
)

// A details is the answer of a serving process to GET /details of package status: it tells a console more than the
// status does. Text of servers is in it as they wrote it, cut short; unreviewed definitions are whole.
type details struct {
	V     int        `json:"v"` // 1
	Rules []ruleTold `json:"rules"`
	Tools []toolTold `json:"tools"` // as hosts were shown them last
	Held  []heldTold `json:"held"`
	Pins  *pinsTold  `json:"pins,omitempty"` // nil: nothing is pinned
}

// A ruleTold is a rule of the policy that decides.
type ruleTold struct {
	Name    string `json:"name"`
	When    string `json:"when"`
	If      string `json:"if"`
	Effect  string `json:"effect"`
	Message string `json:"message"`
}

// A toolTold is a tool with its effective contract.
type toolTold struct {
	ToolReport
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Held        string `json:"held,omitempty"` // why it must not be called
}

// A heldTold is a definition that nobody has reviewed. Of one that is too large there are only the names.
type heldTold struct {
	pins.Held
	TooLarge bool `json:"tooLarge,omitempty"`
	Seen     bool `json:"seen,omitempty"` // hosts see it, and nobody vouches for it
}

// A pinsTold is where definitions are pinned.
type pinsTold struct {
	File   string `json:"file"`
	Mutex  string `json:"mutex"`
	Review bool   `json:"review,omitempty"`
	Tools  int    `json:"tools"` // that are pinned

	Scopes map[string]string `json:"scopes,omitempty"` // where the pins are in the store of a fleet, by server
}

// Bounds of details, so that no server can make the rest unreadable.
const (
	maxToldTools  = 5000
	maxToldText   = 4000 // characters of a description
	maxToldWord   = 400  // characters of a name or a value
	maxToldValues = 40
	maxToldHeld   = 200
	maxHeldSize   = 64 << 10 // bytes of a definition as JSON
)

// details returns the policy, the tools and the pins of the process.
func (t *statusSource) details() details {
	t.mu.Lock()
	c := t.now.Config
	t.mu.Unlock()
	d := details{V: 1}
	for _, r := range t.gateway.Status().Policy.Rules() {
		d.Rules = append(d.Rules, ruleTold{r.Name, r.When.String(), r.If, r.Effect.String(), r.Message})
	}
	words, err := setup.Words(c.Words)
	if err != nil {
		return d // the configuration was checked
	}
	held := t.held()
	for _, e := range t.gateway.Tools() {
		if len(d.Tools) == maxToldTools {
			break
		}
		if !slices.ContainsFunc(held, func(h pins.Held) bool { return h.Server == e.Server && h.Kind == pins.Tools && h.Name == e.Name }) {
			e.Held = ""
		}
		d.Tools = append(d.Tools, toldOf(&e, ReportTool(&e, words.Reader)))
	}
	for _, h := range held {
		d.Held = append(d.Held, toldHeld(h, false))
	}
	for _, h := range t.seen(c) {
		d.Held = append(d.Held, toldHeld(h, true))
	}
	d.Held = d.Held[:min(len(d.Held), maxToldHeld)]
	d.Pins = t.pinned()
	return d
}

// held returns the tools that nobody has accepted. Tools that were accepted after their servers listed them are left out.
func (t *statusSource) held() []pins.Held {
	all := t.gateway.Held()
	if t.locked == nil {
		return all
	}
	lock, err := t.locked.Lock()
	if err != nil {
		return all
	}
	return slices.DeleteFunc(all, func(h pins.Held) bool {
		now, ok := lock.Get(h.Server, h.ID)
		return ok && len(now.Definition.Differences(h.Offered)) == 0
	})
}

// seen returns the definitions that hosts see although nobody vouches for them.
func (t *statusSource) seen(c *config.Config) (all []pins.Held) {
	if t.locked == nil {
		return nil
	}
	lock, err := t.locked.Lock()
	if err != nil {
		return nil // calls fail as well
	}
	for _, s := range c.Servers {
		all = append(all, lock.Unvouched(s.Name, s.Trust != contract.Untrusted)...)
	}
	return all
}

// pinned tells where definitions are pinned; nil if they are not.
func (t *statusSource) pinned() *pinsTold {
	if t.locked == nil {
		return nil
	}
	opts := t.locked.Options()
	p := &pinsTold{File: home.Absolute(t.locked.Path()), Mutex: home.Absolute(opts.Mutex), Review: opts.Mode == pins.Review, Scopes: pinScopes(t.Config)}
	if lock, err := t.locked.Lock(); err == nil {
		for _, pinned := range lock {
			p.Tools += len(pinned[pins.Tools])
		}
	}
	return p
}

func toldOf(e *catalog.Entry, r ToolReport) toolTold {
	text := func(member string, limit int) string {
		raw, _ := rawjson.Get(e.Said, member)
		s, _ := rawjson.String(raw)
		return plain.Cut(s, limit)
	}
	r.Name, r.Shown = plain.Cut(r.Name, maxToldWord), plain.Cut(r.Shown, maxToldWord)
	for i := range r.Contract {
		m := &r.Contract[i]
		m.Values = m.Values[:min(len(m.Values), maxToldValues)]
		for j, v := range m.Values {
			m.Values[j] = plain.Cut(v, maxToldWord)
		}
	}
	return toolTold{ToolReport: r, Title: text("title", maxToldWord), Description: text("description", maxToldText), Held: e.Held}
}

func toldHeld(h pins.Held, seen bool) heldTold {
	raw, err := json.Marshal(h)
	if err != nil || len(raw) > maxHeldSize {
		return heldTold{Held: pins.Held{Server: h.Server, ID: pins.ID{Kind: h.Kind, Name: plain.Cut(h.Name, maxToldWord)}}, TooLarge: true, Seen: seen}
	}
	return heldTold{Held: h, Seen: seen}
}

// canonical restores the form that definitions have before JSON carries them between processes.
func (h *heldTold) canonical() {
	_, h.Offered = h.Kind.Define(h.Offered.Entry(h.Kind, h.Name))
	if h.Accepted != nil {
		_, was := h.Kind.Define(h.Accepted.Entry(h.Kind, h.Name))
		h.Accepted = &was
	}
}

// contractLine sums a contract up in a few words.
func contractLine(r ToolReport) string {
	var words []string
	for _, m := range r.Contract {
		switch {
		case !m.Known || len(m.Values) == 0:
		case m.Values[0] == "yes" && (m.Name == "readOnly" || m.Name == "destructive" || m.Name == "openWorld" || m.Name == "requiresReview"):
			words = append(words, m.Name)
		case m.Name == "destinations":
			words = append(words, "to "+strings.Join(m.Values, ", "))
		}
	}
	return strings.Join(words, "; ")
}
