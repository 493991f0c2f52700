package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
)

func newAuditAnchor(env *home.Env, place *string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "anchor",
		Short: "Give the machines of a fleet the keys of one log",
		Long: `The anchor of a log has the key that signs it and the key of its seal, which all machines on one
store need, and what this machine has seen of the log. weir state names its directory.`,
	}
	cmd.AddCommand(newAnchorMake(env), newAnchorImport(env, place))
	return cmd
}

func newAnchorMake(env *home.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "new DIRECTORY",
		Short: "Make the keys of a log that does not exist yet",
		Long: `Make the files key and seal in a directory, which must not exist, for weir audit anchor import on each
machine of a fleet. With them and the store, another log can be written: keep them as secrets.`,
		Example: "  weir audit anchor new ./anchor",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := args[0]
			if err := os.Mkdir(dir, 0o700); err != nil {
				return remedy.Usage(err, "name a directory that does not exist, in one that does")
			}
			key, err := audit.NewKey("weir/" + strings.ToLower(rand.Text()))
			if err != nil {
				return err
			}
			if err := audit.NewAnchor(key).Replace(dir); err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.Stdout, "written: %s, %s\n", plain.Text(filepath.Join(dir, "key"), 0), plain.Text(filepath.Join(dir, "seal"), 0))
			return err
		},
	}
}

func newAnchorImport(env *home.Env, place *string) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "import DIRECTORY",
		Short: "Take the keys of the store's log from a directory",
		Long: `Copy the files key and seal of a directory, such as a secret that a cluster mounts, to the anchor of the
store's log on this machine. Where they are already, nothing changes; other ones are never replaced.`,
		Example: `  weir audit anchor import /run/secrets/anchor --config /etc/weir/weir.yaml
  weir audit anchor import ./anchor --store postgres://weir@db.example.com/weir`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if path != "" {
				if *place != "" {
					return usage(cmd, errors.New("--config and --store both name a store"))
				}
				s, err := setup.Load(env, path, "")
				if err != nil {
					return err
				}
				*place = s.Config.Store
			}
			target, err := env.StorePlace(*place)
			if err != nil {
				return err
			}
			given, err := anchorIn(args[0])
			if err != nil {
				return remedy.Usage(fmt.Errorf("reading the anchor: %w", err),
					"weir audit anchor new makes a directory with key and seal; weir state names the one in use")
			}
			own, err := app.ReadAnchor(env, target)
			if err != nil {
				return err
			}
			dir, err := env.AnchorDir(target)
			if err != nil {
				return err
			}
			said := "written"
			switch {
			case own == nil:
				if err := given.Replace(dir); err != nil {
					return err
				}
			case own.Key().Verifier() == given.Key().Verifier() && own.SealKey() == given.SealKey():
				said = "there already"
			default:
				return remedy.Usage(fmt.Errorf("the log has another anchor at %s", dir), "see which is the right one; move the other away")
			}
			_, err = fmt.Fprintf(env.Stdout, "%s: %s\n", said, plain.Text(dir, 0))
			return err
		},
	}
	cmd.Flags().StringVar(&path, "config", "", "take the store that this `FILE` names")
	return cmd
}

// anchorIn returns the anchor of the keys in a directory. A cluster mounts secrets with modes of its own, so the key is
// read as a copy.
func anchorIn(dir string) (_ *audit.Anchor, err error) {
	private, err := os.MkdirTemp("", "weir-anchor-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(private)) }()
	copied := filepath.Join(private, "key")
	if err := home.CopyFile(filepath.Join(dir, "key"), copied); err != nil {
		return nil, err
	}
	key, err := audit.ReadKey(copied)
	if err != nil {
		return nil, err
	}
	seal, err := os.ReadFile(filepath.Join(dir, "seal"))
	if err != nil {
		return nil, err
	}
	return audit.WithSeal(key, string(seal))
}
