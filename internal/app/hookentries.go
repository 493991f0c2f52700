package app

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/bounded"
	"github.com/weir-mcp/weir/internal/conversation"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/hook"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/install"
	"github.com/weir-mcp/weir/internal/owner"
)

// An entryBook knows which names of a host's entries stand for this Weir and nothing else, and remembers that until a file changes. A
// conversation in which another server may have had such a name has none from then on: its host may still run that server. It is safe for
// concurrent use.
type entryBook struct {
	mu    *sync.Mutex
	known *bounded.Map[string, knownNames]
	mixed *bounded.Map[string, bool] // conversations
	open  *bounded.Map[string, bool] // conversations into which a project may have put files
}

// knownNames are names as files had them.
type knownNames struct {
	install.Names
	read []stamp
}

// maxEntries is how many places and conversations are remembered.
const maxEntries = 1024

func newEntryBook() entryBook {
	return entryBook{
		mu: &sync.Mutex{}, known: bounded.NewMap[string, knownNames](maxEntries),
		mixed: bounded.NewMap[string, bool](maxEntries), open: bounded.NewMap[string, bool](maxEntries),
	}
}

// sure returns those of the entries that an event comes with whose calls Weir decides on for certain, and whether
// a project may put files into the conversation that no hook sees.
func (b entryBook) sure(told *Hook, log *slog.Logger) (entries []string, opens bool) {
	h, _ := hosts.Lookup(told.Event.Host.ID)
	inlines := h.Hooks == nil || len(h.Hooks.Inlines) > 0
	needed := told.Event.Name == hook.SessionStart || !told.Event.Decides(told.Entries)
	if !inlines && (len(told.Entries) == 0 || !needed) {
		return nil, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	conversation := told.Event.Host.ID + "\x00" + told.Event.Session
	n, err := b.names(told)
	if err != nil {
		log.Warn("looking which servers of a host run weir; calls to all of them are decided on", "error", err)
		return nil, inlines
	}
	if n.Opens {
		b.open.Set(conversation, true)
	}
	opens, _ = b.open.Get(conversation)
	if n.Other || opens {
		b.mixed.Set(conversation, true)
	}
	if mixed, _ := b.mixed.Get(conversation); mixed {
		return nil, opens
	}
	return n.Ours, opens
}

// names looks at the files of the host, unless they are as they were.
func (b entryBook) names(told *Hook) (n install.Names, err error) {
	folders, err := foldersOf(told)
	if err != nil {
		return n, err
	}
	state, err := told.Env.StateDir()
	if err != nil {
		return n, err
	}
	machine := hosts.Here(told.Env.Getenv)
	key := []string{told.Event.Host.ID, state, machine.Home}
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "XDG_CONFIG_HOME"} {
		value, _ := told.Env.Getenv(name)
		key = append(key, value)
	}
	at := strings.Join(slices.Concat(key, []string{""}, folders, []string{""}, told.Entries), "\x00")
	if k, ok := b.known.Get(at); ok && !slices.ContainsFunc(k.read, func(s stamp) bool { return !s.fresh() }) {
		return k.Names, nil
	}
	exe, _, err := owner.ThisBuild()
	if err != nil {
		return n, err
	}
	began := time.Now()
	in := install.New(install.Options{Machine: machine, State: state, Exe: exe})
	n, err = install.ReadNames(in, told.Event.Host.ID, folders, told.Entries)
	if err == nil {
		b.known.Set(at, knownNames{n, stamps(n.Files, began)})
	}
	return n, err
}

// foldersOf returns the folders in which the host may have looked for servers: that of the event, that which the host calls the project's,
// and those in which the conversation was seen first.
func foldersOf(told *Hook) (folders []string, err error) {
	if !filepath.IsAbs(told.Event.Folder) {
		return nil, fmt.Errorf("the working directory %.200q is not absolute", told.Event.Folder)
	}
	all := []string{told.Event.Folder}
	if project, _ := told.Env.Getenv("CLAUDE_PROJECT_DIR"); filepath.IsAbs(project) {
		all = append(all, project)
	}
	key, beginning, err := told.Event.Keys(agentsession.HostSession)
	if err != nil {
		return nil, err
	}
	for _, seen := range []struct {
		book *conversation.Book
		key  string
	}{{told.Env.Begun(), beginning}, {told.Env.Conversations(), key}} {
		note, ok, err := seen.book.Find(seen.key)
		if err != nil {
			return nil, err
		}
		if ok && filepath.IsAbs(note.Folder) {
			all = append(all, note.Folder)
		}
	}
	for _, f := range all {
		if !slices.Contains(folders, f) {
			folders = append(folders, f)
		}
	}
	return folders, nil
}
