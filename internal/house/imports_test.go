package house

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A row says what one package may import outside the standard library, and why. Tests are free to import more.
type row struct {
	pkg     string
	ours    string // packages of this module, by their path in it
	modules string // other modules, or the parts of them, that it may use
	barred  string // packages of the standard library it may not use, beyond barredBelow
	why     string
}

// The other modules by short names.
const (
	sdk   = "github.com/modelcontextprotocol/go-sdk"
	cel   = "cel.dev/cel-go"
	yaml  = "github.com/goccy/go-yaml"
	jtext = "github.com/go-json-experiment/json/jsontext"
	sumdb = "golang.org/x/mod/sumdb/note golang.org/x/mod/sumdb/tlog"
	cborm = "github.com/fxamacker/cbor/v2"
	cobra = "github.com/spf13/cobra github.com/spf13/pflag"
	check = "github.com/google/go-cmp pgregory.net/rapid"
	world = "net net/http os os/exec" // what pure packages stay away from
)

// table is the import direction: arrows point down only. docs/architecture.md explains the floors.
var table = []row{
	{"label", "", "", world, "the lattice: standard library only, so that anyone can use it"},
	{"contract", "label", "", world, "what a tool may do, said in labels' words"},
	{"internal/rawjson", "", jtext, world, "the one place that scans JSON"},
	{"internal/rpc", "internal/rawjson", "", "net net/http os os/exec", "messages and their framing over any stream"},
	{"internal/bounded", "", "", world, "maps and counters within fixed limits; the caller locks"},
	{"internal/hosterror", "", "", "net net/http os/exec", "what hosts are shown of errors; os for how a process ended"},
	{"annotation", "label contract internal/rawjson", cborm, world,
		"wire words to contracts and labels; no SDK, whose types drop unknown members"},
	{"internal/spelling", "", "", world, "what a misspelt word was meant to be"},
	{"internal/document", "internal/spelling", yaml, world, "strict YAML with the place of every mistake, for formats of ours"},
	{"internal/pattern", "", "", world, "regular expressions that are compiled when they are used"},
	{"internal/address", "", "golang.org/x/net/idna golang.org/x/net/publicsuffix golang.org/x/text/unicode/norm", "net net/http os os/exec",
		"the one reader of URLs, hosts, mail addresses and accounts; asks no DNS"},
	{"internal/speech", "", "", world, "which of a user's words are the user's own, and what they ask for"},
	{"internal/cmdline", "", "mvdan.cc/sh/v3/syntax", world, "which program a command line runs, and whether it only reads; runs nothing"},
	{"internal/sqlread", "", "github.com/wasilibs/go-pgquery/parser github.com/pingcap/tidb/pkg/parser modernc.org/sqlite", world,
		"whether a text of SQL only reads, by the grammar of its dialect; SQLite reads it in memory, without a table"},
	{"internal/expression", "internal/spelling internal/address internal/sqlread internal/cmdline", cel + " golang.org/x/text/unicode/norm", world, "conditions in CEL over a closed vocabulary, and their helper functions"},
	{"conformance", "", "", world, "vectors as data, for any implementation; its tests know ours"},
	{"policy", "label contract internal/spelling internal/document internal/expression", cel + " " + yaml, world, "rules to decisions, pure: same facts, same verdict"},
	{"overlay", "label contract internal/rawjson internal/spelling internal/document internal/expression",
		cel + " " + yaml, world, "what operators say of tools: files to contracts, pure"},
	{"overlay/catalogue", "overlay", "", world, "the overlays that come with Weir, embedded"},
	{"provenance", "internal/rawjson", "", world, "where values came from: texts in, pieces out; knows neither labels nor calls"},
	{"detect", "", "", world, "what should not be in text"},
	{"record", "label", "", "net net/http os/exec", "one event schema; who writes events knows the rest, not the schema"},
	{"store", "label", "", world, "an interface and its reference in memory; a back end is a package of its own"},
	{"store/storetest", "store label", check, world, "the acceptance test of stores, for back ends elsewhere too"},
	{"audit", "", sumdb + " github.com/rogpeppe/go-internal/lockedfile", "net net/http os/exec", "a log of opaque entries; knows nothing of ours, so that anyone can use it"},
	{"audit/audittest", "audit", check, world, "the acceptance test of what keeps a log"},
	{"internal/lasting", "", "", "net net/http os/exec", "whether names of files stand for the same as before; reads and changes none"},
	{"store/sqlstore", "label store audit record internal/bounded internal/hosterror internal/lasting", "modernc.org/sqlite github.com/jackc/pgx/v5 golang.org/x/mod/sumdb/tlog", "net/http os/exec",
		"sessions, questions, pins, taints and the log in SQLite or PostgreSQL"},
	{"session", "label store", "", world, "labels of agent sessions over any store"},
	{"guard/trace", "label policy overlay provenance session internal/address internal/speech internal/rawjson", "", world,
		"where the arguments of a call came from; it decides nothing"},
	{"vault", "label store internal/rawjson", "", world, "values that agents were not shown, and what is told of them; whoever keeps them is an interface"},
	{"guard/plan", "vault internal/document internal/rawjson", yaml, world, "the plans of agents: it reads and compares, and decides nothing"},
	{"guard", "guard/plan guard/trace label contract annotation policy overlay provenance record session detect vault internal/bounded internal/speech internal/rawjson internal/hosterror", "", world,
		"the one decision path: no transport, no SDK, no files, no store back end, so that every caller can use it"},
	{"internal/plain", "", "", world, "shows text of others without letting it do anything"},
	{"internal/plain/plaintest", "", "", world, "texts as attackers write them, for tests"},
	{"approval", "guard guard/plan guard/trace contract label overlay policy provenance internal/address internal/plain internal/rawjson", "", world,
		"approval requests in words; which channel shows them is the host's business"},
	{"tracker", "label contract annotation store", "", world, "a session's label for hosts with rules of their own; store for the limits of a label"},
	{"mcptool", "label contract annotation internal/rawjson", sdk + " github.com/google/jsonschema-go", world,
		"annotated tools for authors of servers, without the rest of Weir"},

	{"interceptor", "internal/rawjson", "", world, "interceptors on the wire and their execution model; who sends messages and who decides is the caller's business"},

	{"internal/upstream", "internal/bounded internal/rawjson internal/rpc internal/hosterror", "", "",
		"one upstream connection; messages stay raw, which no transport of the SDK leaves them"},
	{"internal/oauth", "internal/address internal/upstream internal/hosterror", sdk + " golang.org/x/oauth2 github.com/gofrs/flock github.com/zalando/go-keyring", "os/exec",
		"tokens of servers; says what a connection wants to know of them, and knows no gateway"},
	{"internal/oauth/oauthtest", "", "", "os os/exec", "an authorization server for tests, here and of the command line"},
	{"internal/budget", "", "", world, "limits of the process, and what is taken of them; knows nothing of what takes it"},
	{"internal/streamable", "internal/budget internal/rawjson internal/rpc", "", "os/exec", "the HTTP binding; knows nothing of gateways"},
	{"internal/remedy", "", "", world, "errors with a hint and the exit status; prints nothing"},
	{"internal/searcher", "detect", "", "os os/exec", "detectors in other programs, over HTTP; knows neither guard nor configuration"},
	{"internal/rulefile", "detect internal/pattern", "github.com/pelletier/go-toml/v2", world, "rules for secrets in TOML; reads no files"},
	{"internal/report", "internal/plain", "", world, "findings to text, JSON and SARIF"},
	{"internal/pins", "internal/rawjson", "github.com/rogpeppe/go-internal/lockedfile", "net net/http os/exec",
		"what tools looked like when they were accepted; knows files, not servers"},
	{"internal/files", "guard internal/address internal/speech internal/lasting", "", "net net/http os/exec", "what paths mean on this machine, for the guard, which touches none; writes only what a person confirmed"},
	{"internal/inputschema", "internal/rawjson", "github.com/google/jsonschema-go", world, "arguments against input schemas; decides nothing, fetches nothing"},
	{"internal/resolution", "annotation guard internal/rawjson internal/rpc", "", world, "asks for the contract of one call before it is decided; who carries the question is the caller's business"},
	{"internal/gateway/catalog", "annotation contract overlay detect guard guard/trace internal/pins internal/rawjson", "", world, "an immutable snapshot of what is on offer; guard says which tools agents are told of"},
	{"internal/gateway/approve", "approval detect guard guard/plan guard/trace label contract policy overlay provenance record session store internal/bounded internal/rawjson internal/plain", "golang.org/x/text/unicode/norm", world,
		"questions and answers; which transport asks is the gateway's business"},
	{"internal/conversation", "internal/bounded internal/plain", "", "net net/http os/exec", "which generation of a conversation counts, one file each; knows no store and no host"},
	{"internal/gateway/protocol", "annotation internal/rawjson internal/rpc internal/upstream", "", "os os/exec",
		"revisions of MCP and how clients introduce themselves; decides nothing"},
	{"internal/gateway/asked", "session internal/bounded internal/rawjson internal/gateway/protocol", "", world, "questions of servers; knows no host"},
	{"mcpguard", "detect guard label contract annotation overlay policy record session store internal/gateway/approve internal/gateway/catalog internal/gateway/asked internal/gateway/protocol internal/inputschema internal/pins internal/rawjson " +
		"internal/resolution internal/rpc", sdk, "os os/exec",
		"the guard in the SDK's clothes: middleware and connections"},
	{"internal/gateway/agentsession", "session internal/conversation internal/plain internal/rawjson internal/rpc internal/gateway/protocol", "", "os os/exec",
		"the agent session of a request; knows no server and no guard"},
	{"internal/interceptors", "contract guard interceptor label overlay policy session internal/bounded internal/hosterror internal/rawjson internal/rpc internal/gateway/agentsession internal/gateway/approve internal/gateway/asked internal/gateway/protocol", "", "net net/http os os/exec",
		"payloads of invokers to decisions of the guard; knows no transport and no configuration file"},
	{"internal/gateway/backend", "annotation contract detect guard label overlay record internal/budget internal/hosterror internal/pins internal/rawjson internal/rpc internal/upstream " +
		"internal/gateway/catalog internal/gateway/protocol", "", "net net/http os os/exec",
		"connections to servers and the hosts that hear them; decides nothing"},
	{"internal/sanitize", "detect label vault internal/address internal/rawjson", "", world, "texts to texts; whoever calls it keeps both from agents"},
	{"internal/program", "vault internal/rawjson", "go.starlark.net", "net net/http",
		"runs programs of agents and knows which values may have influenced each call; what is called and kept is its host's business"},
	{"internal/gateway/exchange", "annotation contract guard guard/plan label policy record session store vault internal/program internal/sanitize internal/conversation internal/bounded internal/hosterror internal/inputschema internal/plain internal/rawjson internal/resolution internal/rpc " +
		"internal/upstream internal/gateway/agentsession internal/gateway/approve internal/gateway/backend internal/gateway/catalog internal/gateway/protocol", "", "net os os/exec",
		"one request through the guard, to its server and back; knows no host connection but by an interface"},
	{"internal/gateway/hostconn", "annotation guard internal/hosterror internal/plain internal/rawjson internal/rpc internal/upstream internal/gateway/agentsession internal/gateway/backend " +
		"internal/gateway/catalog internal/gateway/exchange internal/gateway/protocol", "", "net net/http os os/exec",
		"one host connection: handshake, lists, subscriptions, requests in flight"},
	{"internal/gateway", "guard label contract annotation policy overlay record session store vault internal/budget internal/conversation internal/rawjson internal/rpc " +
		"internal/upstream internal/streamable internal/gateway/catalog internal/gateway/approve internal/gateway/agentsession internal/gateway/backend internal/gateway/exchange internal/gateway/hostconn internal/pins internal/plain internal/hosterror internal/inputschema internal/sanitize", "", "os os/exec",
		"hosts to servers; takes Options, never a configuration file"},
	{"internal/notify", "approval record internal/bounded internal/gateway/approve internal/plain internal/rawjson", "", "",
		"tells people of questions and findings, over a webhook or a desktop; decides nothing"},
	{"internal/quarantine", "vault", "", "net", "asks a model without tools; whoever takes its answers holds them to a type"},
	{"internal/feed", "record", "", world, "events in other systems' formats; pure"},
	{"internal/capture", "record", "filippo.io/age", "net net/http os/exec", "encrypts what was captured, and reads it again; knows no store"},
	{"internal/evidence", "annotation internal/bounded", "", "os os/exec", "records of evidence from the operator's places, over HTTP"},
	{"internal/publish", "", sumdb, "os/exec", "checkpoints to files, URLs and witnesses; knows no log but by what it signs and proves"},
	{"internal/ledger", "label audit record session store store/sqlstore guard", "golang.org/x/mod/sumdb/tlog", world, "events into the log, with the labels they tell of"},
	{"internal/replay", "audit label record", "", world, "computes the state from the log, and compares the two; does no I/O"},
	{"internal/console", "label record internal/plain", "", "os os/exec", "pages for people over sources that it declares; knows no gateway and no store"},
	{"internal/signin", "internal/streamable", "github.com/coreos/go-oidc/v3/oidc github.com/go-jose/go-jose/v4 " + sdk, "os os/exec", "whose HTTP request it is: named tokens, access tokens of an authorization server, client certificates"},
	{"internal/config", "annotation contract guard/plan label overlay policy internal/address internal/document internal/evidence internal/sanitize internal/signin internal/spelling", yaml, "net/http os/exec", "weir.yaml to values; only cli, app, setup, importer and install know it"},
	{"internal/hook", "approval guard label contract overlay policy session internal/cmdline internal/conversation internal/expression internal/gateway/approve internal/plain internal/rawjson", "", "net net/http os/exec",
		"events of hosts to decisions and back; os for whether the file of a conversation has begun, and whether a path is a folder"},
	{"internal/hosts", "", "", world, "where hosts keep their servers: a table; reads no file"},
	{"internal/hostfile", "internal/hosts internal/rawjson", yaml + " github.com/tailscale/hujson github.com/pelletier/go-toml/v2", world,
		"edits of lists of servers that keep the rest of a file; bytes in, bytes out"},
	{"internal/importer", "internal/config internal/hosts internal/hostfile internal/rawjson", jtext, "net/http os/exec",
		"other hosts' files to ours; jsontext for the positions of mistakes"},
	{"internal/install", "internal/config internal/hosts internal/hostfile internal/importer internal/rawjson",
		"github.com/rogpeppe/go-internal/lockedfile", "net net/http",
		"changes files of hosts, writes configurations and a journal; looks programs up and starts none"},
	{"internal/service", "", "", "net net/http os/exec", "the file by which a system keeps weir run going; starts nothing"},
	{"internal/survey", "internal/rawjson internal/upstream", "", "os os/exec", "asks servers what they offer"},
	{"internal/draft", "label contract annotation internal/rawjson internal/plain internal/speech", "", world, "guesses at what tools do; a guess decides nothing"},
	{"internal/lint", "label contract annotation overlay detect internal/rawjson internal/draft internal/report", "golang.org/x/text", world,
		"findings over definitions; asks no server"},
	{"internal/kit", "annotation conformance contract label internal/plain internal/rawjson internal/report internal/rpc internal/upstream", "", "",
		"plays client and server to implementations under test, and judges them by the vectors"},
	{"internal/analyze", "label contract policy internal/plain internal/report", "", world, "what a set of tools makes possible under a policy; asks no server"},
	{"internal/trial", "contract label policy record internal/address internal/document internal/spelling", yaml, world, "policies against cases and recorded decisions; does no I/O"},
	{"internal/watch", "", "github.com/fsnotify/fsnotify", world, "tells when files change, and reads none"},
	{"internal/metrics", "", "", world, "figures in the text format of Prometheus"},
	{"internal/socket", "", "", "net/http os/exec", "unix sockets in directories of one user"},
	{"internal/status", "internal/budget internal/socket", "", "os/exec", "what a process tells of itself, over a unix socket; who fills it in knows the rest"},
	{"internal/owner", "internal/socket", "github.com/gofrs/flock", "net/http",
		"the one process that owns the sessions of a state directory: its lock, socket and start; knows nothing of what is asked"},
	{"internal/attach", "internal/hosterror internal/owner internal/rawjson internal/rpc internal/upstream", "", "net/http",
		"a wrap and the process that decides for it: the host's lines and the server of the wrap; knows nothing of decisions"},
	{"internal/demo/agent", "", sdk, "", "a client that obeys what it reads"},
	{"internal/demo/servers", "label contract annotation internal/rawjson", sdk, "", "the servers of the demonstration"},
	{"internal/demo", "label annotation internal/demo/agent internal/demo/servers", sdk, "",
		"plays the scenarios against the real program, and reads labels off the wire as any host would"},
	{"internal/evaluate", "contract detect guard overlay overlay/catalogue policy record vault internal/draft internal/gateway internal/pins internal/program internal/rawjson internal/rpc internal/upstream", sdk + " " + yaml, "os os/exec",
		"replays recorded attacks against a whole gateway"},
	{"internal/home", "internal/conversation internal/files internal/oauth internal/remedy", "", "net net/http os/exec",
		"where Weir keeps its files for one user, by the variables that a caller hands in"},
	{"internal/terminal", "", "golang.org/x/sys/unix golang.org/x/sys/windows", "net net/http os/exec", "asks the person at the terminal; what was typed before is dropped by a call of the system"},
	{"internal/setup", "annotation contract detect guard overlay overlay/catalogue policy internal/config internal/evidence internal/files internal/gateway internal/home internal/importer internal/inputschema internal/oauth internal/pattern internal/rawjson internal/remedy internal/rulefile internal/searcher internal/upstream", "", "net net/http",
		"a configuration with the policy, overlays and logins that it names; os/exec to look programs up"},
	{"internal/app", "guard/plan internal/gateway/protocol annotation audit contract detect guard label policy record session store store/sqlstore vault internal/bounded internal/budget internal/capture internal/config internal/console internal/conversation internal/files " +
		"internal/gateway internal/gateway/agentsession internal/gateway/approve internal/gateway/backend internal/gateway/catalog internal/home internal/hosts internal/install internal/ledger internal/lint internal/metrics internal/notify internal/pins internal/plain internal/program internal/publish internal/quarantine internal/sanitize " +
		"internal/interceptors internal/rawjson internal/remedy internal/rpc internal/setup internal/socket internal/status internal/signin internal/streamable internal/watch internal/hook internal/owner internal/attach internal/upstream overlay", "", "",
		"the running thing: state, gateway, reload, console; knows no flags"},
	{"internal/cli", "*", sdk + " " + cobra + " " + yaml + " github.com/rogpeppe/go-internal/diff", "", "one file a subcommand: flags, a call, text; the only floor that knows everything"},
	{"internal/house", "", "", world, "rules about the tree"},
	{"internal/manual", "", "", "net/http", "runs the examples of pages in a shell, for tests"},
	{"internal/bench", "internal/cli internal/home internal/rawjson internal/rpc", "", "",
		"a program that measures: it plays client, relay and server, and runs the product whole"},

	{"api", "", "", world, "lists of what the public packages export"},
	{"examples", "", "", world, "programs of authors; what runs them is its tests"},
	{"examples/server", "contract label mcptool", sdk, world, "a server as an author writes it"},
	{"examples/agent", "approval contract guard mcpguard", sdk, "net net/http", "a host with one user"},
	{"examples/web", "approval contract guard mcpguard session", sdk, "", "a host with several users"},
	{"examples/batch", "contract guard mcpguard record session", sdk, "net net/http", "a host without a user"},

	{"cmd/weir", "internal/cli internal/home", "", "net/http os/exec", "hands the process to cli and its exit status back"},
	{"e2e/attacks", "", "", "", "attacks on the built program: it knows the program and the wire, nothing inside"},
	{"e2e/hosts", "", "", "", "MCP hosts with a scripted model: it knows the program and the hosts, nothing inside"},
	{"e2e", "overlay overlay/catalogue", "", "", "other people's servers and clients against the program, and what the catalogue says of them"},
}

// barredBelow are packages of the standard library that nothing but the listed packages may use.
var barredBelow = map[string]struct{ but, why string }{
	"unsafe":        {"", "nothing here is worth it"},
	"plugin":        {"", "nothing here is worth it"},
	"log":           {"examples/server examples/agent examples/web examples/batch", "log/slog, and only where a logger was handed in"},
	"encoding/gob":  {"", "not a format for hostile input"},
	"math/rand":     {"", "crypto/rand for secrets, math/rand/v2 for the rest"},
	"flag":          {"internal/bench", "the command line belongs to internal/cli"},
	"net/http":      {"internal/upstream internal/kit internal/oauth internal/oauth/oauthtest internal/streamable internal/signin internal/gateway internal/gateway/protocol internal/gateway/agentsession internal/cli internal/app internal/status internal/console internal/evidence internal/notify internal/publish internal/quarantine internal/searcher mcpguard internal/demo internal/demo/servers internal/demo/agent internal/bench internal/evaluate examples/web", "transports, and programs that bring records or are brought checkpoints, questions and texts"},
	"os/exec":       {"internal/upstream internal/program internal/quarantine internal/kit internal/owner internal/notify internal/cli internal/app internal/setup internal/install internal/demo internal/demo/agent internal/bench internal/manual examples/agent examples/web examples/batch", "processes have one owner"},
	"os/signal":     {"internal/app cmd/weir internal/bench", "signals belong to the program"},
	"html/template": {"internal/console", "pages are the console's"},
}

// never are pairs that stay apart even where a later edit of the table would let them meet, through any number of
// other packages.
var never = []struct{ from, to, why string }{
	{"label", "*", "the lattice knows nothing of ours"},
	{"audit", "*", "a log of opaque entries knows nothing of what they say"},
	{"policy", "annotation record guard internal", "a decision depends on facts alone"},
	{"overlay", "policy annotation record guard internal", "what is said of a tool does not depend on who decides"},
	{"annotation", "policy record guard session", "vocabularies do not decide"},
	{"provenance", "policy annotation record guard session label", "it traces; what follows from that is not its business"},
	{"record", "policy annotation guard session store", "events are plain data"},
	{"guard", "internal/gateway internal/upstream internal/streamable internal/cli internal/config mcpguard store/sqlstore",
		"callers know the guard, not the other way round"},
	{"internal/gateway", "internal/config internal/setup internal/app internal/cli", "configuration sits at the top"},
	{"internal/streamable", "guard internal/gateway internal/upstream", "a binding, not a product"},
	{"internal/console", "guard store internal/gateway internal/upstream", "pages over sources, not a product"},
	{"internal/notify", "internal/upstream internal/streamable internal/cli internal/config", "channels to people, not a product"},
	{"internal/oauth", "guard internal/gateway internal/streamable", "tokens, not a product"},
	{"internal/upstream", "guard internal/gateway internal/streamable internal/oauth", "a connection, not a product"},
}

// pure are the internal packages that are no part of the product, but tools of the packages that are public.
const pure = "internal/plain internal/rawjson internal/spelling internal/document internal/expression internal/address internal/sqlread internal/cmdline internal/pattern"

// anywhere is a package that every one may import: it does nothing but put off work until it is needed.
const anywhere = "internal/pattern"

// onlyFrom lists packages that only some may import.
var onlyFrom = map[string]string{
	"internal/config": "internal/cli internal/app internal/setup internal/importer internal/install",
	"internal/cli":    "cmd/weir internal/bench",
	"internal/app":    "internal/cli",
	"internal/setup":  "internal/cli internal/app",
	"internal/demo":   "internal/cli",
}

func rowOf(pkg string) *row {
	for i := range table {
		if table[i].pkg == pkg {
			return &table[i]
		}
	}
	return nil
}

// has tells whether a space-separated list names path or something above it.
func has(list, path string) bool {
	for entry := range strings.FieldsSeq(list) {
		if entry == "*" || path == entry || strings.HasPrefix(path, entry+"/") {
			return true
		}
	}
	return false
}

// TestImports holds every package against its row.
func TestImports(t *testing.T) {
	tr := load(t)
	for pkg := range tr.packages() {
		if rowOf(pkg) == nil {
			t.Errorf("package %s has no row in the table of internal/house/imports_test.go: say what it may import, and why", pkg)
		}
	}
	for _, f := range tr.product() {
		r := rowOf(f.dir)
		if r == nil {
			continue
		}
		for _, spec := range f.ast.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := r.refuses(target); why != "" {
				t.Errorf("%s: %s imports %s: %s", tr.at(spec), f.dir, target, why)
			}
		}
	}
}

// refuses says why the package of the row may not import target, or nothing.
func (r *row) refuses(target string) string {
	if own, ok := strings.CutPrefix(target, module+"/"); ok {
		if own == anywhere {
			return ""
		}
		if from, ok := onlyFrom[own]; ok && !slices.Contains(strings.Fields(from), r.pkg) {
			return "only " + from + " may"
		}
		if r.ours != "*" && !slices.Contains(strings.Fields(r.ours), own) {
			return "not in its row (" + r.why + ")"
		}
		return ""
	}
	if first, _, _ := strings.Cut(target, "/"); strings.Contains(first, ".") {
		if !has(r.modules, target) {
			return "not among its modules (" + r.why + ")"
		}
		return ""
	}
	if slices.Contains(strings.Fields(r.barred), target) {
		return "barred by its row (" + r.why + ")"
	}
	if rule, ok := barredBelow[target]; ok && !slices.Contains(strings.Fields(rule.but), r.pkg) {
		return rule.why
	}
	return ""
}

// TestNever holds what must not meet, by the transitive closure of the real imports.
func TestNever(t *testing.T) {
	imports := map[string][]string{}
	for _, f := range load(t).product() {
		for _, spec := range f.ast.Imports {
			if target, err := strconv.Unquote(spec.Path.Value); err == nil {
				if own, ok := strings.CutPrefix(target, module+"/"); ok {
					imports[f.dir] = append(imports[f.dir], own)
				}
			}
		}
	}
	for _, rule := range never {
		seen := map[string]bool{}
		var visit func(pkg, way string)
		visit = func(pkg, way string) {
			for _, next := range imports[pkg] {
				if seen[next] {
					continue
				}
				seen[next] = true
				if has(rule.to, next) && !(has(rule.to, "internal") && has(pure, next)) {
					t.Errorf("%s → %s: %s", way, next, rule.why)
				}
				visit(next, way+" → "+next)
			}
		}
		visit(rule.from, rule.from)
	}
}

// TestTable keeps the table itself honest: no row twice, no arrow up, every row in docs/architecture.md.
func TestTable(t *testing.T) {
	document, err := os.ReadFile(path.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range table {
		if seen[r.pkg] {
			t.Errorf("%s has two rows", r.pkg)
		}
		for own := range strings.FieldsSeq(r.ours) {
			if own != "*" && !seen[own] {
				t.Errorf("%s may import %s, whose row comes later or nowhere: arrows point down only", r.pkg, own)
			}
		}
		seen[r.pkg] = true
		if r.why == "" {
			t.Errorf("%s: a row needs a reason", r.pkg)
		}
		if !strings.Contains(string(document), "`"+r.pkg+"`") {
			t.Errorf("docs/architecture.md does not mention `%s`", r.pkg)
		}
	}
}
