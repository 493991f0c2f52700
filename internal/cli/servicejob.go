package cli

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/service"
	"github.com/weir-mcp/weir/internal/setup"
)

// placeVariables are the variables that name the places of Weir's files. Neither variables of a host or of the system
// nor those of a project may move them.
func placeVariables(env *home.Env) (map[string]string, error) {
	state, err := env.StateDir()
	if err != nil {
		return nil, err
	}
	anchors, err := env.AnchorsDir()
	if err != nil {
		return nil, err
	}
	vars := map[string]string{"XDG_STATE_HOME": filepath.Dir(state), "XDG_DATA_HOME": filepath.Dir(filepath.Dir(anchors))}
	if dir, _ := env.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		vars["XDG_RUNTIME_DIR"] = dir
	}
	return vars, nil
}

// servicePlace returns where the system looks for the file of a service.
func servicePlace(env *home.Env) (at service.Place, err error) {
	if at.Home = hosts.Here(env.Getenv).Home; !filepath.IsAbs(at.Home) {
		return at, remedy.Usage(errors.New("your home directory is not known"), "set HOME")
	}
	if at.State, err = env.StateDir(); err != nil {
		return at, err
	}
	if at.Config, _ = env.Getenv("XDG_CONFIG_HOME"); !filepath.IsAbs(at.Config) {
		at.Config = filepath.Join(at.Home, ".config")
	}
	at.User = fmt.Sprint(os.Getuid())
	if runtime.GOOS == "windows" {
		me, err := user.Current()
		if err != nil {
			return at, err
		}
		at.User = me.Username
	}
	return at, nil
}

// serviceOf returns the job that the flags ask for, and the text of its file without the values of variables.
func serviceOf(env *home.Env, flags *serviceFlags) (job *service.Job, shown string, err error) {
	at, err := servicePlace(env)
	if err != nil {
		return nil, "", err
	}
	vars, hidden, err := serviceVariables(env, flags.env)
	if err != nil {
		return nil, "", err
	}
	places, err := placeVariables(env)
	if err != nil {
		return nil, "", err
	}
	path, err := checkService(env, flags, vars, places)
	if err != nil {
		return nil, "", err
	}
	c := service.Command{Args: []string{"run", "--config", path}, Folder: filepath.Dir(path), Env: vars}
	if c.Exe, err = stableExecutable(); err != nil {
		return nil, "", err
	}
	if flags.listen != "" {
		c.Args = append(c.Args, "--listen", flags.listen)
	}
	for _, name := range []string{"XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"} {
		if v, ok := places[name]; ok {
			c.Args = append(c.Args, "--env", name+"="+v)
		}
	}
	if job, err = service.For(runtime.GOOS, at, c); err != nil {
		return nil, "", remedy.Usage(fmt.Errorf("writing the service: %w", err), "")
	}
	c.Env = hidden
	masked, err := service.For(runtime.GOOS, at, c)
	if err != nil {
		return nil, "", err
	}
	return job, masked.Text, nil
}

// serviceVariables returns the variables of a service, and the same without the values of those that were named.
func serviceVariables(env *home.Env, names []string) (vars, hidden []string, err error) {
	if runtime.GOOS != "windows" { // there a task has those of the account
		var path []string
		all, _ := env.Getenv("PATH")
		for _, dir := range filepath.SplitList(all) {
			if filepath.IsAbs(dir) {
				path = append(path, dir)
			}
		}
		vars = []string{"PATH=" + strings.Join(path, string(filepath.ListSeparator))}
		hidden = append(hidden, vars...)
	}
	for _, name := range names {
		value, ok := env.Getenv(name)
		if !ok || name == "" || strings.Contains(name, "=") {
			return nil, nil, remedy.Usage(fmt.Errorf("--env: there is no variable %.64q", before(name)), "name one that is set; its value is taken over")
		}
		vars, hidden = append(vars, name+"="+value), append(hidden, name+"=…")
	}
	return vars, hidden, nil
}

// before returns the name of a variable, of what may be NAME=value.
func before(text string) string {
	name, _, _ := strings.Cut(text, "=")
	return name
}

// checkService reads the configuration as the service will, and returns its path.
func checkService(env *home.Env, flags *serviceFlags, vars []string, places map[string]string) (string, error) {
	with := *env
	with.Environ = append([]string{}, vars...)
	for _, name := range []string{"HOME", "USER", "LOGNAME", "LANG", "SHELL"} { // which every system gives
		if v, ok := env.Getenv(name); ok {
			with.Environ = append(with.Environ, name+"="+v)
		}
	}
	for name, v := range places {
		with.Environ = append(with.Environ, name+"="+v)
	}
	s, err := setup.Load(&with, flags.config, "")
	if err != nil {
		return "", err
	}
	if err := setup.CheckSecured(&with, s); err != nil {
		return "", err
	}
	if err := setListen(s.Config, flags.listen); err != nil {
		return "", err
	}
	if s.Config.Listen == "" {
		return "", remedy.Usage(errors.New("a service serves HTTP, and the configuration names no address"),
			"give --listen 127.0.0.1:8080, or listen: in the configuration")
	}
	return home.Absolute(s.Path), nil
}

// serviceHere returns the job with the place and the commands of this system, without its text.
func serviceHere(env *home.Env) (*service.Job, error) {
	at, err := servicePlace(env)
	if err != nil {
		return nil, err
	}
	return service.For(runtime.GOOS, at, service.Command{})
}
