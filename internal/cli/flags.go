package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/policy"
)

// A choice is the value of a flag that takes one of a few words.
type choice struct {
	value string
	words []string
}

// String implements pflag.Value.
func (c *choice) String() string { return c.value }

// Type implements pflag.Value: the text that help shows after the flag.
func (c *choice) Type() string { return strings.Join(c.words, "|") }

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("use %s", strings.Join(c.words, ", "))
	}
	c.value = s
	return nil
}

// addChoice adds a flag that takes one of a few words, and their completion.
func addChoice(cmd *cobra.Command, c *choice, name, help string) {
	cmd.Flags().Var(c, name, help)
	complete := cobra.FixedCompletions(c.words, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(err) // the flag exists, and has no completion yet
	}
}

// logLevels are the words of --log-level.
var logLevels = []string{"debug", "info", "warn", "error"}

// serveFlags are the flags of every command that serves a host. A flag that is not given leaves the configuration as it
// is.
type serveFlags struct {
	policy       string
	record       string
	store        string
	pins         string
	uncatalogued bool     // nothing of the catalogue counts
	shows        string   // address of the console
	trust        []string // texts and files
	mode         choice
	level        choice
	session      string // the agent session of requests on stdio that name none
}

func (f *serveFlags) add(cmd *cobra.Command) {
	f.addDeciding(cmd)
	cmd.Flags().StringVar(&f.pins, "pins", "",
		"keep the pins of definitions in this `FILE`, or none (default weir.lock beside\nweir.yaml, else in weir's state directory)")
	cmd.Flags().StringArrayVar(&f.trust, "trust-text", nil,
		"take this `TEXT`, or the text of the file of that name, for the user's\nown words; may be given several times")
	cmd.Flags().StringVar(&f.shows, "console", "", "serve the console at this `ADDRESS` of this machine, like 127.0.0.1:7777")
	cmd.Flags().StringVar(&f.session, "agent-session", "",
		"on stdio, have requests that name no agent session belong to this `NAME`\n(default by host or folder)")
}

// addDeciding adds those of the flags that every command has which decides.
func (f *serveFlags) addDeciding(cmd *cobra.Command) {
	f.mode = choice{"", []string{"enforce", "warn", "audit"}}
	f.level = choice{"info", logLevels}
	cmd.Flags().StringVar(&f.policy, "policy", "",
		"decide by the policy in this `FILE`, or by the profile calm, balanced,\nstrict or read-only (default balanced)")
	cmd.Flags().StringVar(&f.record, "record", "", "append events to this `FILE` too, or keep none at all")
	cmd.Flags().StringVar(&f.store, "store", "",
		"keep state and events in this `PLACE`: a file, postgres://…, or memory\n(default state.db in weir's state directory)")
	cmd.Flags().BoolVar(&f.uncatalogued, "no-catalogue", false, "leave out the overlays that come with weir; see weir overlay list")
	addChoice(cmd, &f.mode, "mode", "how far decisions are carried out (default enforce)")
	addChoice(cmd, &f.level, "log-level", "the least level to log on standard error")
}

// apply overrides the configuration by the flags that were given.
func (f *serveFlags) apply(c *config.Config) error {
	if f.policy != "" {
		c.Policy = f.policy
	}
	if f.record != "" {
		c.Record = f.record
	}
	if f.store != "" {
		target, wrong := config.ParseStore(f.store)
		if wrong != "" {
			return fmt.Errorf("--store: %s", wrong)
		}
		c.Store = target
	}
	if f.uncatalogued {
		c.NoCatalogue = true
		for i := range c.Servers {
			c.Servers[i].Catalogue = ""
		}
	}
	switch f.pins {
	case "":
	case config.NoRecord:
		c.Pins.Off = true
	default:
		c.Pins = config.Pins{File: f.pins, Review: c.Pins.Review}
	}
	if f.shows != "" {
		c.Console = f.shows
	}
	if f.mode.value == "" {
		return nil
	}
	var err error
	c.Mode, err = policy.ParseMode(f.mode.value)
	return err
}

// words returns the texts of --trust-text: the content of a file if there is one of that name, else the text itself.
func (f *serveFlags) words() (string, error) {
	var all []string
	for _, text := range f.trust {
		src, err := home.ReadFile(text)
		switch {
		case err == nil:
			text = string(src)
		case strings.ContainsAny(text, " \n") || errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(text, filepath.Separator):
		default:
			return "", remedy.Usage(fmt.Errorf("reading --trust-text: %w", err), "name a file, or write the text itself")
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n\n"), nil
}

// logger returns the logger that --log-level asks for.
func (f *serveFlags) logger(env *home.Env) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level.value)); err != nil {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: level}))
}
