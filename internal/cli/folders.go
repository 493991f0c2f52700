package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/files"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
)

func newFolders(env *home.Env) *cobra.Command {
	var path string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "folders",
		Short: "Show and confirm the folders of your own work",
		Long: `Show which folders count as your own work: those of folders: in the configuration, and those
that you have confirmed. Every other file of this machine is untrusted content, and so are files
below your own folders in dependencies, downloads, caches and temporary folders.

A clone has remotes. You confirm the clone with these remotes: if they change, it is untrusted
content again until you confirm it once more.`,
		Example: `  weir folders
  weir folders confirm ~/code/site
  weir folders remove ~/code/site
  weir folders --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return listFolders(env, path, asJSON) },
	}
	cmd.Flags().StringVar(&path, "config", "", "read this `FILE` (default ./weir.yaml, else ./.mcp.json, else none)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the folders as JSON")
	cmd.AddCommand(newFoldersConfirm(env), newFoldersRemove(env))
	return cmd
}

// A folderView is a folder as it is listed.
type folderView struct {
	Path      string     `json:"path"`
	Declared  bool       `json:"declared"`
	Remotes   []string   `json:"remotes,omitempty"`
	Confirmed *time.Time `json:"confirmed,omitempty"`
	Foreign   string     `json:"foreign,omitempty"` // why it counts as untrusted content all the same
}

func listFolders(env *home.Env, path string, asJSON bool) error {
	s, err := setup.Load(env, path, "")
	if err != nil && path != "" {
		return err
	}
	opts := files.Options{Confirmed: env.Confirmed()}
	if err == nil {
		opts.Folders = s.Config.Folders
	}
	ground := files.New(opts)
	views := []folderView{}
	for _, f := range ground.Declared() {
		views = append(views, folderView{Path: f, Declared: true, Foreign: ground.Status(f)})
	}
	for _, f := range opts.Confirmed.All() {
		views = append(views, folderView{Path: f.Path, Remotes: f.Remotes, Confirmed: &f.Confirmed, Foreign: ground.Status(f.Path)})
	}
	slices.SortStableFunc(views, func(a, b folderView) int { return strings.Compare(a.Path, b.Path) })
	if asJSON {
		return writeJSON(env.Stdout, map[string]any{"folders": views})
	}
	var b strings.Builder
	for _, v := range views {
		how := "declared in the configuration"
		if !v.Declared {
			how = "confirmed " + v.Confirmed.Local().Format(time.DateTime)
		}
		fmt.Fprintf(&b, "%s  %s%s\n", plain.Text(v.Path, maxError), how, ofRemotes(v.Remotes))
		if v.Foreign != "" {
			fmt.Fprintf(&b, "  counts as strangers' text: %s\n", plain.Text(v.Foreign, maxError))
		}
	}
	if len(views) == 0 {
		b.WriteString("no folder counts as your own work; weir folders confirm FOLDER adds one\n")
	}
	_, err = io.WriteString(env.Stdout, b.String())
	return err
}

// ofRemotes names the remotes of a clone. A repository can name any remotes.
func ofRemotes(remotes []string) string {
	if len(remotes) == 0 {
		return ""
	}
	return ", a clone of " + plain.Text(strings.Join(remotes, ", "), maxError)
}

func newFoldersConfirm(env *home.Env) *cobra.Command {
	var yes gate
	cmd := &cobra.Command{
		Use:   "confirm FOLDER...",
		Short: "Count folders as your own work",
		Long: `Count folders as your own work from now on. A weir that is running knows at once. Files that a
session has read before stay untrusted content for that session. At the terminal you are shown each
folder, with the remotes of a clone, and asked.`,
		Example: "  weir folders confirm .\n  weir folders confirm ~/code/site ~/notes",
		Args:    needsArg("a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return eachFolder(env, args, func(kept *files.Confirmed, path string) error {
				return confirmFolder(cmd.Context(), env, kept, path, &yes)
			})
		},
	}
	yes.flag(cmd, env, "yes", "confirm them")
	return cmd
}

// eachFolder calls do with each folder that is named, until an error.
func eachFolder(env *home.Env, names []string, do func(kept *files.Confirmed, path string) error) error {
	kept := env.Confirmed()
	if kept == nil {
		_, err := env.StateDir()
		return err
	}
	for _, name := range names {
		path, err := filepath.Abs(name)
		if err == nil {
			err = do(kept, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// confirmFolder counts a folder as the user's own work, who has to say so.
func confirmFolder(ctx context.Context, env *home.Env, kept *files.Confirmed, path string, yes *gate) error {
	f, err := files.Look(path, time.Now())
	if err != nil {
		return remedy.Usage(fmt.Errorf("confirming a folder: %w", err), "")
	}
	shown := plain.Text(f.Path, maxError) + ofRemotes(f.Remotes)
	if err := yes.pass(ctx, env, "confirm "+shown, "Count "+shown+" as your own work?"); err != nil {
		return err
	}
	if err := kept.Add(f); err != nil {
		return fmt.Errorf("confirming a folder: %w", err)
	}
	_, err = fmt.Fprintf(env.Stdout, "your own work: %s\n", shown)
	return err
}

func newFoldersRemove(env *home.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "remove FOLDER...",
		Short:   "Count folders as untrusted content again",
		Long:    "Count folders that were confirmed as untrusted content again. A weir that is running knows at once.",
		Example: "  weir folders remove ~/code/site",
		Args:    needsArg("a folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			return eachFolder(env, args, func(kept *files.Confirmed, path string) error {
				removed, err := kept.Remove(path)
				switch {
				case err != nil:
					return fmt.Errorf("removing a folder: %w", err)
				case !removed:
					return remedy.Usage(errors.New("it is not among the confirmed folders: "+path), "weir folders lists them")
				}
				return nil
			})
		},
	}
}
