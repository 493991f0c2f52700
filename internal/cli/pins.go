package cli

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/survey"
	"github.com/weir-mcp/weir/store"
)

func newPins(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pins",
		Short: "Compare tools with what they were when they were accepted",
		Long: `The definition of each tool is pinned when it is first seen: title, description, schemas and
annotations; so are the instructions that a server gives to the model. A tool that has changed
since is shown to hosts as it was, and its calls are blocked, until a person accepts the
difference; changed instructions are not passed on. Pins are in weir.lock beside weir.yaml, to be
reviewed like code; those of weir wrap and of other hosts' files are in the state directory.`,
		Example: "  weir pins diff\n  weir pins accept mail",
		Args:    cobra.ArbitraryArgs,
		RunE:    needsSubcommand,
	}
	cmd.AddCommand(newPinsDiff(env), newPinsAccept(env))
	return cmd
}

// openPins returns the pins of a configuration, which a fleet shares in what it keeps; nil if it wants none.
func (e *Env) openPins(c *config.Config, kept store.Pins) (*pins.File, error) {
	if c.Pins.Off {
		return nil, nil
	}
	state, err := e.stateDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(state, "pins")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of pins: %w", err)
	}
	sum := sha256.Sum256([]byte(pinned(c)))
	own := hex.EncodeToString(sum[:8])
	path := c.Pins.File
	if path == "" {
		path = filepath.Join(dir, own+".lock")
	}
	opts := pins.Options{Mutex: filepath.Join(dir, own+".mutex"), Shared: e.shared(kept, pinScopes(c))}
	if c.Pins.Review {
		opts.Mode = pins.Review
	}
	f, err := pins.Open(path, opts)
	if err != nil {
		return nil, &failure{exitUsage, err, "take the file of before from your version control, or remove it to pin all tools anew"}
	}
	return f, nil
}

// pinned names what the pins of a configuration belong to: their file, or else the servers as they are reached.
func pinned(c *config.Config) string {
	if c.Pins.File != "" {
		return c.Pins.File
	}
	var b strings.Builder
	for _, s := range c.Servers {
		fmt.Fprintf(&b, "%q %q %q %q\n", s.Name, s.Command, s.Args, s.URL)
	}
	return b.String()
}

// gatewayPins returns the pins as the gateway takes them.
func gatewayPins(f *pins.File) gateway.Pins {
	if f == nil {
		return nil
	}
	return f
}

// A pinsView is what a command about pins has found out.
type pinsView struct {
	file *pins.File
	held []pins.Held
	gone map[string][]string // tools that are pinned and not offered any more, by server
	all  map[string][]string // tools that are offered, by server
	end  func() error        // closes what a fleet shares; nil if it shares nothing
}

// Close closes what the view has open.
func (v *pinsView) Close() error {
	if v.end == nil {
		return nil
	}
	return v.end()
}

// comparePins asks the servers for their tools and compares. Nothing is pinned.
func (e *Env) comparePins(ctx context.Context, flags *targetFlags, args []string) (v *pinsView, err error) {
	t, err := flags.target(e, args)
	if err != nil {
		return nil, err
	}
	kept, end, err := e.openSharedPins(ctx, t.config)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && end != nil {
			err = errors.Join(err, end())
		}
	}()
	f, err := e.openPins(t.config, kept)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, &failure{exitUsage, errors.New("this configuration pins nothing"), "remove mode: off below pins:"}
	}
	lock, err := f.Lock()
	if err != nil {
		return nil, err
	}
	v = &pinsView{file: f, end: end, gone: map[string][]string{}, all: map[string][]string{}}
	for _, l := range e.survey(ctx, t) {
		if l.Err != nil {
			return nil, l.Err
		}
		v.compare(lock, l)
	}
	return v, nil
}

func (v *pinsView) compare(lock pins.Lock, l survey.Listing) {
	offered := []string{pins.Preamble}
	look := func(name string, now pins.Definition) {
		h := pins.Held{Server: l.Server, Tool: name, Offered: now}
		if was, ok := lock[l.Server][name]; ok {
			h.Accepted = &was
		}
		if len(h.Differences()) > 0 || h.Accepted == nil {
			v.held = append(v.held, h)
		}
	}
	if _, pinned := lock[l.Server][pins.Preamble]; pinned || l.Instructions != "" {
		look(pins.Preamble, pins.Instructions(l.Instructions))
	}
	for _, raw := range l.Tools {
		if name, now := pins.Define(raw); !slices.Contains(offered, name) {
			offered = append(offered, name)
			look(name, now)
		}
	}
	v.all[l.Server] = offered
	for _, name := range slices.Sorted(maps.Keys(lock[l.Server])) {
		if !slices.Contains(offered, name) {
			v.gone[l.Server] = append(v.gone[l.Server], name)
		}
	}
}

// A pinReport is the JSON form of one tool that is not as it was accepted, or without a tool of a server's instructions.
type pinReport struct {
	Server  string            `json:"server"`
	Tool    string            `json:"tool,omitempty"`
	State   string            `json:"state"` // "new", "changed" or "gone"
	Changes []pins.Difference `json:"changes,omitempty"`
}

func (v *pinsView) reports() []pinReport {
	out := []pinReport{}
	for _, h := range v.held {
		state := "changed"
		if h.Accepted == nil {
			state = "new"
		}
		out = append(out, pinReport{h.Server, h.Tool, state, h.Differences()})
	}
	for _, server := range slices.Sorted(maps.Keys(v.gone)) {
		for _, tool := range v.gone[server] {
			out = append(out, pinReport{Server: server, Tool: tool, State: "gone"})
		}
	}
	return out
}

// print shows the differences. What a server wrote is quoted line by line, with all that does not print made visible.
func (v *pinsView) print(w io.Writer) error {
	var b strings.Builder
	for _, r := range v.reports() {
		what := "instructions"
		if r.Tool != pins.Preamble {
			what = plain.Quote(r.Tool, maxName)
		}
		fmt.Fprintf(&b, "%s %s: %s\n", plain.Quote(r.Server, maxName), what, r.State)
		for _, d := range r.Changes {
			fmt.Fprintf(&b, "  %s\n", plain.Quote(d.Member, maxName))
			writeLines(&b, "    - ", d.Before)
			writeLines(&b, "    + ", d.After)
		}
	}
	if b.Len() == 0 {
		b.WriteString("every tool is as it was accepted\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const (
	maxName = 128     // runes of a name that are shown
	maxLine = 4 << 10 // runes of a line that are shown
)

func writeLines(b *strings.Builder, mark, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(b, "%s%s\n", mark, plain.Quote(line, maxLine))
	}
}

func newPinsDiff(env *Env) *cobra.Command {
	var flags targetFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff [-- COMMAND [ARGS…] | -- URL]",
		Short: "Show what differs from what was accepted",
		Long: `Start the servers of the configuration, or the one that is named as for weir wrap, and show
which of their tools are new, changed or gone since they were accepted. Nothing is accepted.
The exit status is 1 if a tool has changed.`,
		Example: "  weir pins diff\n  weir pins diff --json --config weir.yaml\n  weir pins diff -- npx -y @example/server",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			v, err := env.comparePins(cmd.Context(), &flags, args)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, v.Close()) }()
			if asJSON {
				err = writeJSON(env.Stdout, map[string]any{"file": v.file.Path(), "tools": v.reports()})
			} else {
				err = v.print(env.Stdout)
			}
			if err == nil && slices.ContainsFunc(v.reports(), func(r pinReport) bool { return r.State == "changed" }) {
				return &failure{status: exitFailure} // said above
			}
			return err
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the differences as JSON")
	return cmd
}

func newPinsAccept(env *Env) *cobra.Command {
	var flags targetFlags
	var yes bool
	var only []string
	cmd := &cobra.Command{
		Use:   "accept [-- COMMAND [ARGS…] | -- URL]",
		Short: "Accept tools as they are now",
		Long: `Show the differences as weir pins diff does, ask, and pin the tools as they are shown. Tools
that are gone are forgotten.`,
		Example: "  weir pins accept\n  weir pins accept --tool mail/send_email --yes",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			v, err := env.comparePins(cmd.Context(), &flags, args)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, v.Close()) }()
			if err := v.narrow(only); err != nil {
				return err
			}
			if err := v.print(env.Stdout); err != nil || len(v.reports()) == 0 {
				return err
			}
			if !yes && !env.confirm("Accept these definitions?") {
				return &failure{exitFailure, errors.New("nothing was accepted"), "answer yes, or give --yes"}
			}
			return v.accept(cmd.Context(), env.Stdout)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().StringArrayVar(&only, "tool", nil, "accept only this `SERVER/TOOL`, or the instructions of this SERVER; may be\ngiven several times")
	return cmd
}

// narrow leaves only the tools that are named as SERVER/TOOL, and the instructions of those as SERVER; no names leave all.
func (v *pinsView) narrow(only []string) error {
	if len(only) == 0 {
		return nil
	}
	left := slices.Clone(only)
	v.held = slices.DeleteFunc(v.held, func(h pins.Held) bool {
		i := slices.Index(left, strings.TrimSuffix(h.Server+"/"+h.Tool, "/"+pins.Preamble))
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		return i < 0
	})
	clear(v.gone)
	if len(left) > 0 {
		return &failure{exitUsage, fmt.Errorf("--tool: %.128q is not new or changed", left[0]), "see weir pins diff"}
	}
	return nil
}

func (v *pinsView) accept(ctx context.Context, w io.Writer) error {
	if err := v.file.Accept(ctx, v.held); err != nil {
		return err
	}
	for _, server := range slices.Sorted(maps.Keys(v.gone)) {
		if _, err := v.file.Forget(ctx, server, v.all[server]); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "accepted, in %s\n", plain.Text(v.file.Path(), 0))
	return err
}

// confirm asks on standard error and reads the answer from standard input.
func (e *Env) confirm(question string) bool {
	fmt.Fprintf(e.Stderr, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(e.Stdin).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
