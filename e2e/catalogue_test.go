package e2e

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/overlay"
	"github.com/weir-mcp/weir/overlay/catalogue"
)

// A listed server is one that lists its tools without a network and an account, and the catalogue's entry about it.
type listed struct {
	entry string
	pkg   string // of npm, in the version that package-lock.json pins
	args  []string
	env   map[string]string
	other string // prefix of the entry's tools that are of another package of the same name
}

// The keys are made up: these servers look at them when a tool is called.
var listedServers = []listed{
	{entry: "airtable", pkg: "airtable-mcp-server", env: map[string]string{"AIRTABLE_API_KEY": "pat0.0"}},
	{entry: "brave-search", pkg: "@brave/brave-search-mcp-server", env: map[string]string{"BRAVE_API_KEY": "0"}},
	{entry: "brave-search-reference", pkg: "@modelcontextprotocol/server-brave-search",
		env: map[string]string{"BRAVE_API_KEY": "0"}},
	{entry: "chrome-devtools", pkg: "chrome-devtools-mcp", args: []string{"--no-usage-statistics"}},
	{entry: "code-runner", pkg: "mcp-server-code-runner"},
	{entry: "commands", pkg: "mcp-server-commands"},
	{entry: "everything", pkg: "@modelcontextprotocol/server-everything"},
	{entry: "filesystem", pkg: "@modelcontextprotocol/server-filesystem", args: []string{"."}},
	{entry: "github-reference", pkg: "@modelcontextprotocol/server-github"},
	{entry: "google-maps", pkg: "@modelcontextprotocol/server-google-maps",
		env: map[string]string{"GOOGLE_MAPS_API_KEY": "0"}},
	{entry: "hubspot", pkg: "@hubspot/mcp-server", env: map[string]string{"PRIVATE_APP_ACCESS_TOKEN": "pat-0"}},
	{entry: "memory", pkg: "@modelcontextprotocol/server-memory"},
	{entry: "notion", pkg: "@notionhq/notion-mcp-server", env: map[string]string{"NOTION_TOKEN": "ntn_0"}},
	{entry: "obsidian", pkg: "mcp-obsidian", args: []string{"."}, other: "obsidian_"},
	{entry: "playwright", pkg: "@playwright/mcp"},
	{entry: "postgres-reference", pkg: "@modelcontextprotocol/server-postgres",
		args: []string{"postgresql://127.0.0.1:1/none"}},
	{entry: "sequential-thinking", pkg: "@modelcontextprotocol/server-sequential-thinking"},
	{entry: "slack-reference", pkg: "@modelcontextprotocol/server-slack",
		env: map[string]string{"SLACK_BOT_TOKEN": "xoxb-0", "SLACK_TEAM_ID": "T0"}},
	{entry: "tavily", pkg: "tavily-mcp", env: map[string]string{"TAVILY_API_KEY": "tvly-0"}},
	{entry: "time-mcp", pkg: "time-mcp"},
}

// program returns how the package is started, and its version.
func (l listed) program(t *testing.T) (to target, version string) {
	t.Helper()
	dir := filepath.Join(world.scripts, "node_modules", filepath.FromSlash(l.pkg))
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var about struct {
		Version string
		Bin     json.RawMessage // a path, or a path for each program
	}
	if err := json.Unmarshal(data, &about); err != nil {
		t.Fatal(err)
	}
	path, programs := "", map[string]string{}
	if json.Unmarshal(about.Bin, &path) != nil {
		if err := json.Unmarshal(about.Bin, &programs); err != nil || len(programs) == 0 {
			t.Fatalf("%s has no program: %s", l.pkg, about.Bin)
		}
		for _, path = range programs {
			break
		}
		path = cmp.Or(programs[filepath.Base(l.pkg)], path) // as npx chooses among several
	}
	to = node(filepath.Join(dir, path), l.args...)
	to.Env = homeless(t)
	for name, value := range l.env {
		to.Env[name] = value
	}
	return to, about.Version
}

// TestCatalogue starts servers and compares their tools with their entries: none is missing on either side, and an entry
// says truly which version it was checked against.
func TestCatalogue(t *testing.T) {
	needEnabled(t)
	set, err := catalogue.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range listedServers {
		t.Run(l.entry, func(t *testing.T) {
			t.Parallel()
			to, version := l.program(t)
			entry := set.For(overlay.Server{Command: []string{"npx", "-y", l.pkg + "@" + version}})
			about := entry.Entries()
			if len(about) != 1 || about[0].Name != l.entry {
				t.Fatalf("for npx -y %s there is %v", l.pkg, about)
			}
			if want := l.pkg + " " + version; !strings.HasPrefix(about[0].Checked, want) {
				t.Errorf("checked against %q, and here is %s", about[0].Checked, want)
			}
			r := drive(t, job{SDK: "v1", Transport: to, Capabilities: object{"roots": object{}}, Steps: []step{{Method: "tools/list"}}})
			l.compare(t, entry, tools(t, r.answer(t, 0)))
		})
	}
}

func (l listed) compare(t *testing.T, entry *overlay.Overlay, offered map[string]object) {
	t.Helper()
	for _, name := range entry.Names() {
		if _, ok := offered[name]; !ok && (l.other == "" || !strings.HasPrefix(name, l.other)) {
			t.Errorf("the entry has %s, and the server does not", name)
		}
	}
	for name := range offered {
		said := entry.Tool(name).Said()
		if !slices.ContainsFunc(said, func(s overlay.Said) bool { return s.Pattern != "*" }) {
			t.Errorf("the server has %s, and the entry does not", name)
		}
	}
}
