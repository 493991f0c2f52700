package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/app"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// initFlags are the flags of weir state init.
type initFlags struct {
	role                 string
	check, print, asJSON bool
}

func newStateInit(env *home.Env, place *string) *cobra.Command {
	f := &initFlags{}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up a PostgreSQL store whose log Weir's role cannot change",
		Long: `Set up a PostgreSQL database, by the connection of its owner or of a superuser: make the role of
Weir, the schema and the tables where they are missing, bring them up to date, and grant the role the
privileges that it needs and no more. It can then append entries to the log, but not update, delete or
truncate them, nor alter the tables. The role that runs this becomes the owner of the tables, and is the
one that erases entries (weir audit erase, weir state prune --events). Run it again after an update of
Weir that changes the schema. It sets no password: see the output.

With --check nothing is changed: it says which privileges of the role are too wide or missing, and the
exit status is 1 if any are. With --print it prints the SQL, for an administrator to run with psql.`,
		Example: `  weir state init --store 'postgres://dba@db.example.com/weir' --role weir
  weir state init --check --store 'postgres://weir@db.example.com/weir'
  weir state init --print --store 'postgres://dba@db.example.com/weir' | psql -v ON_ERROR_STOP=1 weir`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !strings.Contains(*place, "://") {
				return remedy.Usage(errors.New("weir state init is for PostgreSQL: a file is its owner's alone anyway"),
					"give --store postgres://OWNER@HOST/DATABASE")
			}
			role := f.role
			if !f.check {
				role = cmp.Or(role, "weir")
			}
			s, err := databaseSetup(*place, role)
			switch {
			case err != nil:
				return err
			case f.print && (f.check || f.asJSON):
				return usage(cmd, errors.New("--print goes with neither --check nor --json"))
			case f.print:
				return printSetup(env, s)
			case f.check:
				return checkRole(cmd.Context(), env, s, *place, f.asJSON)
			}
			return initStore(cmd.Context(), env, s, *place, f.asJSON)
		},
	}
	cmd.Flags().StringVar(&f.role, "role", "", "the `ROLE` of Weir (default weir; with --check, the one that connects)")
	cmd.Flags().BoolVar(&f.check, "check", false, "change nothing, and print the privileges that the role has too many or lacks")
	cmd.Flags().BoolVar(&f.print, "print", false, "print the SQL, and connect to nothing")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the result as JSON")
	return cmd
}

// databaseSetup returns the setup for a role.
func databaseSetup(target, role string) (sqlstore.Setup, error) {
	s, err := sqlstore.SetupOf(target, role)
	if err != nil {
		err = remedy.Usage(fmt.Errorf("reading how to set up the store: %w", err), "give --store postgres://OWNER@HOST/DATABASE, and --role")
	}
	return s, err
}

// printSetup prints the SQL.
func printSetup(env *home.Env, s sqlstore.Setup) error {
	script, err := s.Script()
	if err != nil {
		return remedy.Usage(err, setupHint(err))
	}
	_, err = fmt.Fprintf(env.Stdout, "begin;\n%s;\ncommit;\n", strings.Join(script, ";\n"))
	return err
}

// initStore sets the store up, and checks it.
func initStore(ctx context.Context, env *home.Env, s sqlstore.Setup, target string, asJSON bool) error {
	if err := s.Run(ctx, target); err != nil {
		return remedy.Failure(fmt.Errorf("setting up the store, of which nothing was changed: %w", err), setupHint(err))
	}
	if !asJSON {
		if _, err := fmt.Fprintf(env.Stdout,
			"set up for %s; if it has no way in yet, give it a password (\\password in psql) or a line in pg_hba.conf\nstore: %s\n",
			plain.Text(s.Role, 0), plain.Text(storeFor(target, s.Role), 0)); err != nil {
			return err
		}
	}
	return checkRole(ctx, env, s, target, asJSON)
}

func setupHint(err error) string {
	switch {
	case errors.Is(err, sqlstore.ErrSameRole):
		return "name the owner of the tables in --store, and the role of Weir with --role"
	case errors.Is(err, sqlstore.ErrDenied):
		return "connect as a superuser or the owner of the database and its tables, or have an administrator run the SQL that --print prints"
	}
	return "see whether the database server runs and lets this user in, and end every weir that uses the store"
}

// A roleReport holds the privileges that a role of the database has too many or lacks.
type roleReport struct {
	sqlstore.Privileges
	OK bool `json:"ok"`
}

// checkRole prints the privileges that a role has too many or lacks. The exit status is 1 if there are any.
func checkRole(ctx context.Context, env *home.Env, s sqlstore.Setup, target string, asJSON bool) error {
	p, err := s.Inspect(ctx, target)
	if err != nil {
		return remedy.Failure(fmt.Errorf("checking the role %s: %w", s.Role, err),
			"see whether the database server runs and lets this user in, and whether there is such a role")
	}
	if asJSON {
		err = writeJSON(env.Stdout, roleReport{p, p.OK()})
	} else {
		err = printRole(env, p)
	}
	if err == nil && !p.OK() {
		err = remedy.Silent(remedy.Failed)
	}
	return err
}

func printRole(env *home.Env, p sqlstore.Privileges) error {
	var b strings.Builder
	name := plain.Text(p.Role, 0)
	for _, w := range p.TooWide {
		fmt.Fprintf(&b, "too wide: %s: %s\n", name, plain.Text(w, app.MaxTold))
	}
	for _, m := range p.Missing {
		fmt.Fprintf(&b, "missing: %s: %s\n", name, plain.Text(m, app.MaxTold))
	}
	if p.OK() {
		fmt.Fprintf(&b, "%s can append to the log in the schema %s, and neither change nor remove what is in it\n", name, plain.Text(p.Schema, 0))
	} else if len(p.Missing) > 0 {
		b.WriteString("weir state init by the owner grants what is missing\n")
	}
	_, err := io.WriteString(env.Stdout, b.String())
	return err
}

// storeFor returns the URL of the store for another role, without a password.
func storeFor(target, role string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	u.User = url.User(role)
	q := u.Query()
	q.Del("user")
	q.Del("password")
	u.RawQuery = q.Encode()
	return u.String()
}
