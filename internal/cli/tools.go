package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/gateway/catalog"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/spelling"
)

// toolsFlags are the flags of weir tools.
type toolsFlags struct {
	targetFlags
	where  []string
	asJSON bool
}

func newTools(env *Env) *cobra.Command {
	var flags toolsFlags
	cmd := &cobra.Command{
		Use:   "tools [-- COMMAND [ARGUMENT…] | -- URL]",
		Short: "List tools with what counts of them, and who says so",
		Long: `Ask the servers of the configuration, or the one that is named as for weir wrap, for their
tools, and list each with the contract by which weir decides about it, whatever the arguments
are, and where each value comes from: an overlay, the server, or the assumption of the worst.
What a tool carries beside that, such as what it requires, its security schemes and labels of
organisations, is listed too; it decides nothing. Nothing is called.

--where lists only tools that have a value: NAME=VALUE, with the names that are printed; more of
them have to hold together.`,
		Example: `  weir tools
  weir tools --where destinations=public --where readOnly=no
  weir tools --json -- npx -y @modelcontextprotocol/server-memory`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			filters, err := parseFilters(flags.where)
			if err != nil {
				return remedy.Usage(err, "write --where NAME=VALUE, with NAME one of "+strings.Join(filterNames(), ", "))
			}
			t, err := flags.target(env, args)
			if err != nil {
				return err
			}
			reports, err := env.toolReports(cmd.Context(), t)
			if err != nil {
				return err
			}
			reports = slices.DeleteFunc(reports, func(r toolReport) bool { return !fits(r, filters) })
			if flags.asJSON {
				return writeJSON(env.Stdout, map[string]any{"tools": reports})
			}
			for _, r := range reports {
				if _, err := fmt.Fprint(env.Stdout, toolText(r)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags.add(cmd)
	cmd.Flags().StringArrayVar(&flags.where, "where", nil, "list only tools for which `NAME=VALUE` holds")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print the tools as JSON")
	return cmd
}

// A toolReport is one tool with what counts of it.
type toolReport struct {
	Server   string         `json:"server"`
	Name     string         `json:"name"`  // on its server
	Shown    string         `json:"shown"` // to hosts
	Trust    string         `json:"trust"`
	Refined  bool           `json:"refined,omitempty"`    // an overlay refines it by arguments
	Resolves bool           `json:"resolvable,omitempty"` // its server says what a call would do
	Contract []memberReport `json:"contract"`

	Carries []annotation.Note `json:"carries,omitempty"` // what its server says beside that, which decides nothing
}

// A memberReport is one member of a contract.
type memberReport struct {
	Name   string   `json:"name"`
	Values []string `json:"values"` // of a set, what is possible; else "yes" or "no"; none if it is not known
	Known  bool     `json:"known"`
	From   string   `json:"from"` // overlay NAME (FILE:LINE), server, server and worst case, implied or worst case, draft NAME …

	Dialects []string `json:"dialects,omitempty"` // in which the server says something of it, whether or not that counts
}

// fromText says where the value comes from, and in which words the server spoke of it.
func (m memberReport) fromText() string {
	if len(m.Dialects) == 0 || !strings.HasPrefix(m.From, "server") {
		return m.From
	}
	return "server (" + strings.Join(m.Dialects, ", ") + ")" + strings.TrimPrefix(m.From, "server")
}

// toolReports asks the servers of a target for their tools.
func (e *Env) toolReports(ctx context.Context, t *target) ([]toolReport, error) {
	words, err := wordsOf(t.config.Words)
	if err != nil {
		return nil, err
	}
	servers, err := e.lintServers(ctx, t)
	if err != nil {
		return nil, err
	}
	var sources []catalog.Source
	for _, s := range servers {
		page, err := json.Marshal(map[string]any{"tools": s.Tools})
		if err != nil {
			return nil, fmt.Errorf("reading the tools of %s: %w", s.Name, err)
		}
		sources = append(sources, catalog.Source{Server: s.Name, Trust: s.Trust, Overlay: s.Overlay, Words: words, Pages: []json.RawMessage{page}})
	}
	list, _ := catalog.Build(catalog.Tools, sources)
	reports := []toolReport{}
	for entry := range list.All() {
		reports = append(reports, reportOf(&entry, words.Reader))
	}
	return reports, nil
}

func reportOf(e *catalog.Entry, reader annotation.Reader) toolReport {
	r := toolReport{
		Server: e.Server, Name: e.Name, Shown: e.Shown, Trust: e.Trust.String(),
		Refined: e.Overlay.Refines(), Resolves: e.Resolvable, Carries: annotation.Notes(e.Said),
	}
	said := reader.Statements(e.Said)
	for _, m := range contractMembers() {
		values, known := m.of(&e.Effective)
		one := memberReport{Name: m.name, Values: values, Known: known, From: m.origin(e)}
		for _, s := range said {
			if _, stated := m.of(&s.Contract); stated {
				one.Dialects = append(one.Dialects, s.Dialect)
			}
		}
		r.Contract = append(r.Contract, one)
	}
	return r
}

// A contractMember is one member of a contract, as overlays name it.
type contractMember struct {
	name string
	of   func(*contract.Contract) (values []string, known bool)
}

func contractMembers() []contractMember {
	return []contractMember{
		{"readOnly", func(c *contract.Contract) ([]string, bool) { return ofHint(c.ReadOnly) }},
		{"destructive", func(c *contract.Contract) ([]string, bool) { return ofHint(c.Destructive) }},
		{"idempotent", func(c *contract.Contract) ([]string, bool) { return ofHint(c.Idempotent) }},
		{"openWorld", func(c *contract.Contract) ([]string, bool) { return ofHint(c.OpenWorld) }},
		{"requiresReview", func(c *contract.Contract) ([]string, bool) { return ofHint(c.RequiresReview) }},
		{"destinations", func(c *contract.Contract) ([]string, bool) { return ofSet(c.Destinations) }},
		{"accepts", func(c *contract.Contract) ([]string, bool) { return ofSet(c.Accepts) }},
		{"outcomes", func(c *contract.Contract) ([]string, bool) { return ofSet(c.Outcomes) }},
		{"sources", func(c *contract.Contract) ([]string, bool) { return ofSet(c.Sources) }},
		{"returns", func(c *contract.Contract) ([]string, bool) { return ofSet(c.Returns) }},
	}
}

func ofHint(h contract.Hint) ([]string, bool) {
	if h == contract.Unknown {
		return []string{}, false
	}
	return []string{h.String()}, true
}

func ofSet[T ~string](v contract.Values[T]) ([]string, bool) {
	set, known := v.Known()
	values := []string{}
	for x := range set.All() {
		values = append(values, string(x))
	}
	return values, known
}

// origin says where the value of a member comes from.
func (m contractMember) origin(e *catalog.Entry) string {
	said := e.Overlay.Said()
	static := e.Overlay.Static()
	undrafted := contract.Overlaid(static, e.Declared, e.Trust)
	now, _ := m.of(&e.Effective)
	before, known := m.of(&undrafted)
	from := m.undrafted(e, before, known)
	if slices.Equal(now, before) {
		return from
	}
	for _, s := range said {
		if _, stated := m.of(&s.Contract); stated && s.Entry.Draft {
			return fmt.Sprintf("%s, raised by the draft %s (%s:%d)", from, s.Entry.Name, s.Entry.File, s.Line)
		}
	}
	return from
}

// undrafted is origin without drafts.
func (m contractMember) undrafted(e *catalog.Entry, now []string, known bool) string {
	for _, s := range e.Overlay.Said() {
		if _, stated := m.of(&s.Contract); stated && !s.Entry.Draft {
			return fmt.Sprintf("overlay %s (%s:%d)", s.Entry.Name, s.Entry.File, s.Line)
		}
	}
	declared, stated := m.of(&e.Declared)
	switch {
	case !known:
		return "nobody"
	case stated && slices.Equal(declared, now):
		return "server"
	case stated:
		return "server, joined with the worst"
	}
	return "assumed"
}

// toolText writes the report for people.
func toolText(r toolReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s\n", plain.Text(r.Server, 120), plain.Text(r.Name, 120))
	for _, m := range r.Contract {
		value := strings.Join(m.Values, ", ")
		switch {
		case !m.Known:
			continue
		case value == "":
			value = "none"
		}
		fmt.Fprintf(&b, "  %-15s %-28s %s\n", m.Name, plain.Text(value, 200), plain.Text(m.fromText(), 200))
	}
	if r.Refined {
		b.WriteString("  an overlay refines this by the arguments of the call\n")
	}
	if r.Resolves {
		b.WriteString("  the server says what a call would do\n")
	}
	for _, n := range r.Carries {
		fmt.Fprintf(&b, "  carries %s = %s\n", plain.Text(n.Where, 120), plain.Text(n.Value, 200))
	}
	return b.String()
}

// A filter is one NAME=VALUE.
type filter struct{ name, value string }

// filterNames are the names that filters know: of the report, and of the contract.
func filterNames() []string {
	names := []string{"server", "tool", "trust"}
	for _, m := range contractMembers() {
		names = append(names, m.name)
	}
	return names
}

func parseFilters(where []string) ([]filter, error) {
	var filters []filter
	for _, w := range where {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, fmt.Errorf("%q has no =", plain.Text(w, 80))
		}
		if !slices.Contains(filterNames(), name) {
			return nil, errors.New("unknown name " + plain.Quote(name, 80) + ": " + spelling.DidYouMean(name, filterNames()))
		}
		filters = append(filters, filter{name, value})
	}
	return filters, nil
}

// fits reports whether all filters hold: a set has the value, or is empty for "none"; what is not known is "unknown".
func fits(r toolReport, filters []filter) bool {
	for _, f := range filters {
		var values []string
		switch f.name {
		case "server":
			values = []string{r.Server}
		case "tool":
			values = []string{r.Name, r.Shown}
		case "trust":
			values = []string{r.Trust}
		default:
			i := slices.IndexFunc(r.Contract, func(m memberReport) bool { return m.Name == f.name })
			values = filterValues(r.Contract[i])
		}
		if !slices.Contains(values, f.value) {
			return false
		}
	}
	return true
}

func filterValues(m memberReport) []string {
	switch {
	case !m.Known:
		return []string{"unknown"}
	case len(m.Values) == 0:
		return []string{"none"}
	}
	return m.Values
}
