package install

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/importer"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// A lister sorts the servers of one list.
type lister struct {
	*Installer
	spec  spec
	part  Part
	vars  map[string]string // of Weir's entry
	names []string          // of all entries
	off   []string          // names that the host disables elsewhere in its file
	own   *hostfile.Entry   // Weir's entry for this list, if it is there
	conf  []hostfile.Entry  // for weir.yaml
	entry hostfile.Entry    // Weir's entry as it should be
}

// sort decides about one entry.
func (l *lister) sort(e hostfile.Entry) {
	l.names = append(l.names, e.Name)
	read := importer.Read(e.Name, e.Value)
	s := read.Server
	if slices.Contains(l.off, e.Name) {
		l.part.Left = append(l.part.Left, Left{e.Name, "the host has it disabled by name", true})
		return
	}
	if l.owns(s) && l.own == nil {
		l.own = &e
		l.part.Behind = append(l.part.Behind, e.Name)
		l.part.Installed, l.part.Vars = true, s.Env
		for name, value := range s.Env {
			if strings.HasPrefix(name, variable) {
				l.vars[name] = value
			}
		}
		return
	}
	if runsWeir(s) {
		switch {
		case l.part.Scope == hosts.Project:
			l.leave(e.Name, "it runs a weir that weir install did not set up, as whoever wrote the project wants it")
		case sameProgram(s.Command, l.opts.Exe):
			l.part.Behind = append(l.part.Behind, e.Name)
		default:
			l.leave(e.Name, "it runs another weir than this one")
		}
		return
	}
	if why := refused(read); why != "" {
		l.part.Left = append(l.part.Left, Left{e.Name, why, s.Disabled && len(read.Problems) == 0})
		return
	}
	l.take(e, s)
}

func (l *lister) leave(name, why string) {
	l.part.Left = append(l.part.Left, Left{Name: name, Why: why})
}

// owns reports whether an entry is the one that weir install made for this list.
func (l *lister) owns(s config.Server) bool {
	return slices.Equal(s.Args, l.args())
}

// args are the arguments of Weir in the entry that weir install makes for this list.
func (l *lister) args() []string {
	args := []string{"run", "--config", l.part.Config}
	if l.spec.host.Session != "" {
		args = append(args, "--agent-session", l.spec.host.Session)
	}
	return args
}

// runsWeir reports whether an entry runs a program called weir as a gateway.
func runsWeir(s config.Server) bool {
	base := strings.TrimSuffix(filepath.Base(s.Command), ".exe")
	return base == "weir" && len(s.Args) > 0 && slices.Contains([]string{"run", "wrap"}, s.Args[0])
}

// sameProgram reports whether a command is a program.
func sameProgram(command, exe string) bool {
	path, err := exec.LookPath(command)
	if err != nil {
		return false
	}
	a, err := os.Stat(path)
	if err != nil {
		return false
	}
	b, err := os.Stat(exe)
	return err == nil && os.SameFile(a, b)
}

// refused says why a server cannot go behind Weir; "" if it can.
func refused(e importer.Entry) string {
	s := e.Server
	switch {
	case len(e.Problems) > 0:
		return e.Problems[0].Msg
	case s.Disabled:
		return "it is disabled"
	case len(e.Unknown) > 0:
		return "weir has nothing like " + strings.Join(e.Unknown, ", ")
	case s.Command == "" && s.URL == "":
		return "it is part of the host, or of an extension"
	case s.Command != "" && s.URL != "":
		return "it has both a command and a URL"
	}
	return ""
}

// variable begins the names of variables that bring values through the host.
const variable = "WEIR_VALUE_"

// hosted returns the text for weir.yaml of a value: itself, or a reference to a variable of Weir's entry if the host may have
// something to resolve in it.
func (l *lister) hosted(value string) string {
	if !strings.ContainsAny(value, "${") {
		return value
	}
	for name, known := range l.vars {
		if known == value {
			return "${env:" + name + "}"
		}
	}
	n := len(l.vars) + 1
	for ; l.vars[variable+strconv.Itoa(n)] != ""; n++ {
	}
	l.vars[variable+strconv.Itoa(n)] = value
	return "${env:" + variable + strconv.Itoa(n) + "}"
}

// take puts a server into weir.yaml.
func (l *lister) take(e hostfile.Entry, s config.Server) {
	if why := l.relative(&s); why != "" {
		l.leave(e.Name, why)
		return
	}
	vars := maps.Clone(l.vars)
	value := l.yaml(s)
	name := l.nameFor(e.Name)
	conf := hostfile.Entry{Name: name, Value: value}
	if _, err := l.load(fresh(l.spec.host, l.part, []hostfile.Entry{conf})); err != nil {
		l.vars = vars
		l.leave(e.Name, "weir refuses it: "+firstProblem(err))
		return
	}
	l.conf = append(l.conf, conf)
	remote := s.URL != ""
	l.part.Taken = append(l.part.Taken, Taken{e.Name, name, remote, remote && len(s.Headers) == 0, e.Value})
}

func firstProblem(err error) string {
	if all, ok := err.(config.Errors); ok && len(all) > 0 {
		return all[0].Msg
	}
	return err.Error()
}

// relative makes paths absolute if the folder in which the host starts servers is known. It says why that cannot be done.
func (l *lister) relative(s *config.Server) string {
	for _, p := range []*string{&s.Command, &s.Dir} {
		path := *p
		isPath := p == &s.Dir && path != "" || strings.ContainsAny(path, `/\`)
		switch {
		case !isPath || filepath.IsAbs(path) || strings.ContainsAny(path, "${"):
		case l.part.Project == "" || strings.HasPrefix(path, "~"):
			return "its command or working directory is relative: write an absolute path"
		default:
			*p = filepath.Join(l.part.Project, path)
		}
	}
	return ""
}

// yaml returns the members of a server in weir.yaml, as JSON.
func (l *lister) yaml(s config.Server) []byte {
	object := map[string]any{}
	if s.Command != "" {
		object["command"] = l.hosted(s.Command)
		args := []string{}
		for _, a := range s.Args {
			args = append(args, l.hosted(a))
		}
		if len(args) > 0 {
			object["args"] = args
		}
	}
	if s.URL != "" {
		object["url"] = l.hosted(s.URL)
		object["transport"] = string(s.Transport)
		if s.Transport == "" {
			object["transport"] = string(config.HTTP)
		}
	}
	if s.Dir != "" {
		object["cwd"] = l.hosted(s.Dir)
	}
	for name, values := range map[string]map[string]string{"env": s.Env, "headers": s.Headers} {
		if len(values) == 0 {
			continue
		}
		own := map[string]string{}
		for _, k := range slices.Sorted(maps.Keys(values)) {
			own[k] = l.hosted(values[k])
		}
		object[name] = own
	}
	text, err := json.Marshal(object)
	if err != nil {
		return []byte("{}") // texts and lists of texts always have a JSON form
	}
	return text
}

// nameFor returns a name for weir.yaml that no other server of this list has.
func (l *lister) nameFor(written string) string {
	fit := importer.FitName(written)
	if fit == "" {
		fit = "server"
	}
	name := fit
	for n := 2; slices.ContainsFunc(l.conf, func(e hostfile.Entry) bool { return e.Name == name }); n++ {
		name = fmt.Sprintf("%.60s-%d", fit, n)
	}
	return name
}

// finish makes Weir's entry and its configuration.
func (l *lister) finish() error {
	p := &l.part
	if l.own != nil {
		p.Entry = l.own.Name
	} else {
		p.Entry, p.add = l.freeName(), true
	}
	l.entry = hostfile.Entry{Name: p.Entry, Value: l.weirEntry()}
	if l.own != nil && string(rawjson.Canonical(l.own.Value)) != string(rawjson.Canonical(l.named(l.entry).Value)) {
		p.Stale = "its entry does not run this weir as it should"
	}
	if len(p.Taken) == 0 {
		return nil
	}
	text, err := l.configText()
	p.configText = text
	return err
}

// named returns an entry as the file's lists have it: those of elements have a name inside.
func (l *lister) named(e hostfile.Entry) hostfile.Entry {
	if l.own == nil || l.spec.file.Format != hosts.YAML {
		return e
	}
	if name, ok := rawjson.Get(l.own.Value, "name"); ok {
		if with, err := rawjson.Set(e.Value, name, "name"); err == nil {
			e.Value = with
		}
	}
	return e
}

// freeName returns a name for Weir's entry. Hosts let an entry of a narrower scope hide one of the same name, so each scope has its own.
func (l *lister) freeName() string {
	name := "weir"
	if l.part.Scope != hosts.User {
		name += "-" + string(l.part.Scope)
	}
	stays := func(name string) bool {
		return slices.Contains(l.names, name) && !slices.ContainsFunc(l.part.Taken, func(t Taken) bool { return t.Name == name })
	}
	first := name
	for n := 2; stays(name); n++ {
		name = first + "-" + strconv.Itoa(n)
	}
	return name
}

// weirEntry returns Weir's entry, spelled as the host has it.
func (l *lister) weirEntry() []byte {
	spelling := l.spec.host.Entry
	var members []string
	member := func(name string, value any) {
		text, err := json.Marshal(value)
		if err == nil {
			members = append(members, string(rawjson.Quote(name))+":"+string(text))
		}
	}
	for _, m := range spelling.Extra {
		members = append(members, string(rawjson.Quote(m.Name))+":"+m.Value)
	}
	command, env := spelling.Command, spelling.Env
	if command == "" {
		command = "command"
	}
	if env == "" {
		env = "env"
	}
	args := l.args()
	if spelling.Joined {
		member(command, append([]string{l.opts.Exe}, args...))
	} else {
		member(command, l.opts.Exe)
		member("args", args)
	}
	vars := maps.Clone(l.opts.Env)
	if vars == nil {
		vars = map[string]string{}
	}
	maps.Copy(vars, l.vars)
	if len(vars) > 0 {
		member(env, vars)
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}
