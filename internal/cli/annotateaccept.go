package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/draft"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/lint"
	"github.com/weir-mcp/weir/internal/pins"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
)

// partsFlags are the flags of weir annotate about confirmed parts of arguments.
type partsFlags struct {
	gate
	accept, forget, asJSON bool
	pins                   string
}

// check refuses flags that do not go together.
func (f *partsFlags) check(output string, all bool) error {
	switch {
	case f.accept && f.forget:
		return remedy.Usage(errors.New("--accept and --forget"), "give one of them")
	case (f.accept || f.forget) && (output != "" || all):
		return remedy.Usage(errors.New("--output and --all are for overlays, which --accept and --forget write none of"), "leave them out")
	case !f.accept && !f.forget && (f.wanted || f.asJSON || f.pins != ""):
		return remedy.Usage(errors.New("--yes, --json and --pins without --accept or --forget"), "see weir annotate --help")
	}
	return nil
}

// A partsOffer holds the tools of one server whose parts of arguments a person may confirm.
type partsOffer struct {
	Server    string      `json:"server"`
	Trust     string      `json:"trust"`
	Tools     []partsTool `json:"tools"`     // to confirm
	Confirmed []string    `json:"confirmed"` // tools of which a person has confirmed parts
	Unpinned  []string    `json:"unpinned"`  // whose definitions are not pinned as the server offers them
	Untrusted bool        `json:"untrusted"` // nobody vouches for the server, so its tools are none to confirm
}

type partsTool struct {
	Tool         string     `json:"tool"`
	Destinations []partRole `json:"destination"`
	Contents     []partRole `json:"content"`

	definition pins.Definition
}

type partRole struct {
	Argument string `json:"argument"`
	Reason   string `json:"reason"`
}

// runParts shows the drafted parts of arguments, and keeps or forgets them if a person says so.
func runParts(ctx context.Context, env *home.Env, flags *partsFlags, t *target) (err error) {
	if flags.pins != "" {
		t.Config.Pins = config.Pins{File: flags.pins, Review: t.Config.Pins.Review}
	}
	file, end, err := reviewedPins(ctx, env, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if flags.forget {
		return forgetParts(ctx, env, file, t.Config, flags.asJSON)
	}
	lock, err := file.Lock()
	if err != nil {
		return err
	}
	servers, err := lintServers(ctx, env, t)
	if err != nil {
		return err
	}
	all := []*partsOffer{}
	for i := range servers {
		all = append(all, offerParts(lock, &servers[i]))
	}
	if flags.asJSON {
		err = writeJSON(env.Stdout, map[string]any{"file": file.Path(), "servers": all})
	} else {
		_, err = io.WriteString(env.Stdout, partsText(all))
	}
	if err != nil || !slices.ContainsFunc(all, func(o *partsOffer) bool { return len(o.Tools) > 0 }) {
		return err
	}
	if err := flags.pass(ctx, env, "confirm these parts", "Are these the parts of the arguments?"); err != nil {
		return err
	}
	for _, o := range all {
		if err := o.confirm(ctx, file); err != nil {
			return remedy.Failure(err, "run weir annotate --accept again")
		}
		if len(o.Tools) > 0 {
			fmt.Fprintf(env.Stderr, "weir: confirmed the arguments of %d tools of %s, in %s\n", len(o.Tools), plain.Text(o.Server, app.MaxName),
				plain.Text(file.Path(), 0))
		}
	}
	return nil
}

// offerParts drafts the parts of the arguments of a server's tools that no overlay states and nobody has confirmed.
func offerParts(lock pins.Lock, s *lint.Server) *partsOffer {
	o := &partsOffer{Server: s.Name, Trust: s.Trust.String(), Tools: []partsTool{}, Confirmed: []string{}, Unpinned: []string{},
		Untrusted: s.Trust == contract.Untrusted}
	confirmed, seen := lock.Confirmed(s.Name), map[string]bool{}
	for _, raw := range s.Tools {
		name, now := pins.Tools.Define(raw)
		p := draft.PartsOf(raw)
		if seen[name] || o.Untrusted || s.Overlay.Tool(name).Roles([]byte("{}")).Known || len(p.Destinations) == 0 || p.Partial {
			continue
		}
		seen[name] = true
		was, pinned := lock.Get(s.Name, pins.ID{Kind: pins.Tools, Name: name})
		switch _, done := confirmed[name]; {
		case !pinned || !was.Fits(pins.Tools, name, now):
			o.Unpinned = append(o.Unpinned, name)
		case done:
			o.Confirmed = append(o.Confirmed, name)
		default:
			o.Tools = append(o.Tools, partsTool{name, roles(p.Destinations), roles(p.Contents), was.Definition})
		}
	}
	return o
}

func roles(all []draft.Role) []partRole {
	out := []partRole{}
	for _, r := range all {
		out = append(out, partRole{r.Argument, r.Reason})
	}
	return out
}

// confirm keeps the parts beside the pins of the definitions that they are of.
func (o *partsOffer) confirm(ctx context.Context, f *pins.File) error {
	var all []pins.Confirmation
	for _, tool := range o.Tools {
		parts := &pins.Arguments{}
		for _, r := range tool.Destinations {
			parts.Destination = append(parts.Destination, r.Argument)
		}
		for _, r := range tool.Contents {
			parts.Content = append(parts.Content, r.Argument)
		}
		all = append(all, pins.Confirmation{Tool: tool.Tool, Definition: tool.definition, Arguments: parts})
	}
	if all == nil {
		return nil
	}
	return f.Confirm(ctx, o.Server, all)
}

// forgetParts takes back the parts that a person has confirmed. A running Weir takes that over with the next list.
func forgetParts(ctx context.Context, env *home.Env, f *pins.File, c *config.Config, asJSON bool) error {
	lock, err := f.Lock()
	if err != nil {
		return err
	}
	forgotten := map[string][]string{}
	for _, s := range c.Servers {
		if names := slices.Sorted(maps.Keys(lock.Confirmed(s.Name))); len(names) > 0 {
			forgotten[s.Name] = names
		}
	}
	for _, server := range slices.Sorted(maps.Keys(forgotten)) {
		var all []pins.Confirmation
		for _, name := range forgotten[server] {
			all = append(all, pins.Confirmation{Tool: name, Definition: lock[server][pins.Tools][name].Definition})
		}
		if err := f.Confirm(ctx, server, all); err != nil {
			return err
		}
		fmt.Fprintf(env.Stderr, "weir: forgot the confirmed arguments of %d tools of %s\n", len(all), plain.Text(server, app.MaxName))
	}
	if len(forgotten) == 0 {
		fmt.Fprintln(env.Stderr, "weir: nobody has confirmed arguments of these servers")
	}
	if asJSON {
		return writeJSON(env.Stdout, map[string]any{"file": f.Path(), "forgotten": forgotten})
	}
	return nil
}

// partsText shows the parts to confirm. Names that a server chose are quoted.
func partsText(all []*partsOffer) string {
	var b strings.Builder
	for _, o := range all {
		fmt.Fprintf(&b, "server %s, %s: %d tools to confirm, %d confirmed\n", plain.Text(o.Server, app.MaxName), plain.Text(o.Trust, app.MaxName),
			len(o.Tools), len(o.Confirmed))
		if o.Untrusted {
			b.WriteString("  nobody vouches for this server, so parts of its arguments would count for nothing: trust: known\n")
		}
		for _, name := range o.Unpinned {
			fmt.Fprintf(&b, "  tool %s: its definition is not pinned as the server offers it: weir review --accept\n", plain.Quote(name, app.MaxName))
		}
		for _, tool := range o.Tools {
			fmt.Fprintf(&b, "  tool %s\n", plain.Quote(tool.Tool, app.MaxName))
			writeParts(&b, "destination", tool.Destinations)
			writeParts(&b, "content", tool.Contents)
		}
	}
	return b.String()
}

func writeParts(b *strings.Builder, part string, all []partRole) {
	for _, r := range all {
		fmt.Fprintf(b, "    %-11s  %s: %s\n", part, plain.Quote(r.Argument, app.MaxName), plain.Text(r.Reason, app.MaxLine))
	}
}
