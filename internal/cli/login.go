package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/oauth"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/setup"
)

// loginWait is how long a person may take to log in.
const loginWait = 10 * time.Minute

// loginFlags are the flags of weir login.
type loginFlags struct {
	config    string
	list      bool
	asJSON    bool
	noBrowser bool
	scopes    []string
	store     choice
}

func newLogin(env *home.Env) *cobra.Command {
	var flags loginFlags
	cmd := &cobra.Command{
		Use:   "login SERVER | URL",
		Short: "Log in to a server over HTTP",
		Long: `Log in to a server of the configuration, or to the server at a URL, with a browser. weir run and
weir wrap use the login from then on, those that are running too, and renew it by themselves.
They never open a browser: a server that asks for a login is in the state "needs login" until
there is one. The tokens are kept in the keyring of the operating system, where there is one,
else in a file in weir's state directory that only you can read.

The page to open is printed, too. It leads back to this machine, so a browser elsewhere cannot
finish the login.`,
		Example: `  weir login wiki
  weir login --no-browser --config weir.yaml wiki
  weir login https://mcp.example/mcp
  weir login --list`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case flags.list && len(args) > 0:
				return usage(cmd, errors.New("--list takes no server"))
			case flags.list:
				return listLogins(cmd.Context(), env, &flags)
			case flags.asJSON:
				return usage(cmd, errors.New("--json is for --list"))
			case len(args) == 0:
				return usage(cmd, errors.New("weir login needs a server or a URL"))
			}
			return logIn(cmd.Context(), env, &flags, args[0])
		},
		ValidArgsFunction: completeServers(env, &flags.config),
	}
	flags.store = choice{"keyring", []string{"keyring", "file"}}
	cmd.Flags().StringVar(&flags.config, "config", "", "read this `FILE` (default ./weir.yaml, else ./.mcp.json)")
	cmd.Flags().BoolVar(&flags.noBrowser, "no-browser", false, "only print the page to open")
	cmd.Flags().StringArrayVar(&flags.scopes, "scope", nil, "ask for this `SCOPE` besides those that the server wants")
	cmd.Flags().BoolVar(&flags.list, "list", false, "show which servers have a login")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "with --list, print JSON")
	addChoice(cmd, &flags.store, "store", "where to keep the tokens; without a keyring in a file")
	return cmd
}

func newLogout(env *home.Env) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "logout SERVER | URL",
		Short: "Forget the login to a server",
		Long: `Forget the login to a server and have the authorization server take it back, if it knows how.
Processes of weir that are running lose it with their next request.`,
		Example: "  weir logout wiki\n  weir logout https://mcp.example/mcp",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := toLogIn(env, path, args[0])
			if err != nil {
				return err
			}
			vault, err := env.Vault()
			if err != nil {
				return err
			}
			was, told, err := oauth.Logout(cmd.Context(), s, vault)
			said := "logged out of %s\n"
			switch {
			case err != nil:
				return err
			case !was:
				said = "nobody was logged in to %s\n"
			case !told:
				said = "logged out of %s, which the authorization server was not told\n"
			}
			_, err = fmt.Fprintf(env.Stdout, said, s.Name)
			return err
		},
		ValidArgsFunction: completeServers(env, &path),
	}
	cmd.Flags().StringVar(&path, "config", "", "read this `FILE` (default ./weir.yaml, else ./.mcp.json)")
	return cmd
}

// logIn logs in to one server.
func logIn(ctx context.Context, env *home.Env, flags *loginFlags, name string) error {
	s, err := toLogIn(env, flags.config, name)
	if err != nil {
		return err
	}
	vault, err := env.Vault()
	if err != nil {
		return err
	}
	if s.Scopes != nil && len(flags.scopes) > 0 {
		return remedy.Usage(fmt.Errorf("--scope, where the configuration of %s has auth.scopes", s.Name), "add the scope there")
	}
	ctx, cancel := context.WithTimeout(ctx, loginWait)
	defer cancel()
	g, err := oauth.Login(ctx, s, &oauth.LoginOptions{
		Vault: vault, Place: oauth.Place(flags.store.value), Scopes: flags.scopes,
		Open: func(_ context.Context, page string) error { return showPage(env, s.Name, page, flags.noBrowser) },
	})
	if err != nil {
		return remedy.Failure(err, loginHint(err))
	}
	place := "the keyring"
	if g.Place == oauth.File {
		place = vault.Dir
	}
	_, err = fmt.Fprintf(env.Stdout, "logged in to %s at %s, the tokens are in %s\n", s.Name, plain.Text(g.Issuer, 0), place)
	return err
}

// loginHint returns the remedy for a login that failed.
func loginHint(err error) string {
	switch {
	case errors.Is(err, oauth.ErrNotAsked):
		return "it needs none, or one in headers"
	case errors.Is(err, oauth.ErrNoClient):
		return "register a client there, and write its id in auth.client_id"
	}
	return ""
}

// showPage has a page opened in a browser, and prints where it is.
func showPage(env *home.Env, server, page string, noBrowser bool) error {
	if _, err := fmt.Fprintf(env.Stderr, "To log in to %s, open this page:\n  %s\n", server, plain.Text(page, 0)); err != nil {
		return err
	}
	if noBrowser {
		return nil
	}
	if err := browse(env, page); err != nil {
		fmt.Fprintf(env.Stderr, "weir: warning: no browser was opened: %v\n", err)
	}
	return nil
}

// browse starts the user's browser, which may outlive weir.
func browse(env *home.Env, page string) error {
	command := []string{"xdg-open"}
	if own, _ := env.Getenv("BROWSER"); own != "" {
		command = []string{strings.Split(own, ":")[0]}
	} else if runtime.GOOS == "darwin" {
		command = []string{"open"}
	} else if runtime.GOOS == "windows" {
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	cmd := exec.Command(command[0], append(command[1:], page)...)
	cmd.Env = env.Environ
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// toLogIn returns the server that an argument names: one of the configuration, or a URL.
func toLogIn(env *home.Env, path, name string) (oauth.Server, error) {
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		draft := config.NewDraft("")
		draft.Config.Servers = []config.Server{{Name: nameOf([]string{name}), URL: literal(name)}}
		c, err := draft.Finish(config.Options{Dir: "."})
		if err != nil {
			return oauth.Server{}, err
		}
		return canLogIn(c.Servers[0])
	}
	s, err := setup.Load(env, path, "")
	if err != nil {
		return oauth.Server{}, err
	}
	var names []string
	for _, one := range s.Config.Servers {
		if one.Name == name && !one.Disabled {
			return canLogIn(one)
		}
		if setup.WantsLogin(one) {
			names = append(names, one.Name)
		}
	}
	hint := "use " + strings.Join(names, ", ")
	if len(names) == 0 {
		hint = "no server of it can have a login"
	}
	return oauth.Server{}, remedy.Usage(fmt.Errorf("%s has no server %.64q", s.Path, name), hint)
}

// canLogIn returns the server, if a person can log in there.
func canLogIn(s config.Server) (oauth.Server, error) {
	if !setup.WantsLogin(s) {
		why := "it is a command"
		switch {
		case s.Auth.Flow == config.ClientCredentials:
			why = "weir logs in by itself, with its client credentials"
		case s.Auth.Flow == config.NoFlow:
			why = "its auth.flow is none"
		case s.URL != "" && strings.HasPrefix(s.URL, "http:"):
			why = "its url is not https"
		case s.URL != "":
			why = "it has an Authorization header"
		}
		return oauth.Server{}, remedy.Usage(fmt.Errorf("nobody can log in to %s: %s", s.Name, why), "")
	}
	return setup.OAuthServer(s, ""), nil
}

// completeServers completes the names of servers of the configuration where a person can log in.
func completeServers(env *home.Env, path *string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		if s, err := setup.Load(env, *path, ""); err == nil && len(args) == 0 {
			for _, one := range s.Config.Servers {
				if !one.Disabled && setup.WantsLogin(one) {
					names = append(names, one.Name)
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
