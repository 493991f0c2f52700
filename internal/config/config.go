// Package config reads weir.yaml, the one file an operator writes: which servers there are, and how Weir treats
// them.
//
//	version: 1
//	servers:
//	  mail:
//	    command: npx
//	    args: ["-y", "@example/mail-server"]
//	    env: {MAIL_TOKEN: "${MAIL_TOKEN}"}
//	    trust: known
//	  search:
//	    url: https://search.example/mcp
//	    headers: {Authorization: "Bearer ${env:SEARCH_TOKEN}"}
//	policy: policy.yaml
//
// [Load] decodes strictly and reports every problem at once, each with its place and a remedy: an unknown or
// repeated field, a value of the wrong type, members that contradict each other, a variable that is not set.
// The values of command, args, env, url, headers and auth, and of a webhook, may be secrets and never appear in a problem.
//
// docs/configuration.md describes every member. Files of other hosts become the same [Config] through a
// [Draft]; see package importer.
//
// A Config is plain data. Nothing here starts, connects or writes anything.
package config

import (
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/policy"
)

// The defaults of what a file leaves out.
const (
	DefaultApproval   = 5 * time.Minute
	DefaultStartup    = 10 * time.Second
	DefaultMaxMessage = 64 << 20
)

// Detection says how results are searched for secrets, cards and bank accounts. The zero Detection raises labels.
type Detection struct {
	Off   bool // they are not
	Notes bool // findings are recorded, and raise no label
}

// NoRecord is the value of Config.Record that asks for no record.
const NoRecord = "none"

// A Config is a configuration that passed every check, with defaults set, variables expanded and paths resolved.
type Config struct {
	Servers     []Server // in the order of the file, disabled ones included; at least one is enabled
	Policy      string   // path of the policy file, or name of a profile; "" is the built-in policy
	Domains     []string // the operator's own domains, in lower case
	Folders     []string // absolute paths of folders of the user's own work
	Overlays    []string // paths of the operator's overlay files, the first counts most
	NoCatalogue bool     // whether the catalogue's overlays do not apply
	Mode        policy.Mode
	Record      string // path of the record; NoRecord, or "" for the default place
	Store       string // where state is kept: MemoryStore, a path, a postgres:// URL, or "" for the default place
	Durability  Durability
	Retention   Retention
	Capture     Capture
	Checkpoints Checkpoints
	Listen      string // host:port of the HTTP endpoint; "" serves stdio
	HTTP        Listener
	Console     string        // host:port of the console, on this machine; "" serves none
	Notify      Notify        // who is told of questions and findings
	Approval    time.Duration // how long a question to a person stays open
	Startup     time.Duration // how long hosts wait for servers that do not answer their handshake
	Limits      Limits        // of what hosts, servers and agent sessions take together
	Detect      Detection     // of sensitive values in results
	Pins        Pins          // how definitions of tools are pinned
	Words       Words         // which annotations are written, and what labels of organisations mean
	Warnings    []Problem     // what is not wrong, but deserves a look
}

// A Server is one upstream MCP server: a command or a URL.
type Server struct {
	Name      string
	Command   string
	Args      []string
	Env       map[string]string // added to the environment of the command
	Dir       string            // working directory of the command; "" is Weir's own
	URL       string
	Transport Transport
	Headers   map[string]string // sent with every HTTP request
	Auth      Auth              // of a URL
	Trust     contract.Trust
	Timeout   time.Duration // of one call; 0 is the gateway's default
	Catalogue string        // the entry of the catalogue that applies; "" is those that match, NoCatalogue none
	Resolve   time.Duration // for it to resolve the contract of a call; 0 is the gateway's default, negative: it is not asked
	Disabled  bool
}

// Pins is how definitions of tools are pinned. The zero Pins pins each when it is first seen.
type Pins struct {
	File   string // path of weir.lock; "" for a place in Weir's state directory
	Review bool   // a tool that was never seen before has to be accepted too
	Off    bool   // nothing is pinned
}

// Limits bound what hosts, servers and agent sessions take together. A zero member is the default of the gateway.
type Limits struct {
	Message int // bytes of one message

	InFlight    int // bytes of messages over HTTP
	Connections int // over HTTP
	Sessions    int // over HTTP, in the older revisions
	Processes   int // of servers
	Traces      int // bytes remembered of agent sessions
}

// Words is which dialects of annotations are written, by their ids, and what labels of organisations mean. A nil list is the
// default, an empty one writes nothing.
type Words struct {
	ToHosts   []string
	ToServers []string
	Labels    annotation.Meanings
}

// LockName is the name of the file of pins that belongs to a weir.yaml, in the same directory.
const LockName = "weir.lock"

// NoCatalogue is the value of Server.Catalogue that asks for no entry.
const NoCatalogue = "none"

// A Transport is how a server is reached. In a Server that was not checked yet "" stands for the one that
// follows from the other members: Stdio with a command, HTTP with a URL.
type Transport string

// The transports.
const (
	Stdio Transport = "stdio" // a process, by its standard input and output
	HTTP  Transport = "http"  // streamable HTTP
	SSE   Transport = "sse"   // HTTP+SSE of revision 2024-11-05
)

// Options is what [Load] and [Draft.Finish] need to know of the world.
type Options struct {
	Dir    string                           // what relative paths are relative to; "": the directory of the file
	Lookup func(name string) (string, bool) // the environment that ${NAME} reads; nil: no variable is set
	Policy func(path string) error          // checks the policy file, policy.Errors are reported one by one; nil: no check

	Overlay   func(path string) error // checks an overlay file, overlay.Errors are reported one by one; nil: no check
	Catalogue []string                // the names of the catalogue's entries; nil: no check
}

// Load reads the weir.yaml that was found at path. The error is [Errors]: every problem of the file, in its order.
func Load(path string, src []byte, opts Options) (*Config, error) {
	d := NewDraft(path)
	d.Config.Pins.File = LockName
	readYAML(d, src)
	return d.Finish(opts)
}
