package config

import (
	"time"

	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard/plan"
	"github.com/weir-mcp/weir/internal/sanitize"
	"github.com/weir-mcp/weir/internal/signin"
	"github.com/weir-mcp/weir/policy"
)

// NoToken is the value of Listener.Token that lets everyone in.
const NoToken = "none"

// A Listener is how hosts reach Weir over HTTP.
type Listener struct {
	Token   string   // bearer token that every request must carry; NoToken; "" for one of Weir's own where it is needed
	Cert    string   // path of a PEM file with the certificate chain; "" serves without TLS
	Key     string   // path of a PEM file with its key
	Hosts   []string // names in the Host header, beside loopback names; empty off loopback: any
	Origins []string // web origins whose pages may connect; empty: none
	Share   bool     // whether HTTP sessions of one principal may share connections to servers
	Apart   bool     // whether each HTTP session is a conversation of its own

	Tokens       []NamedToken
	OAuth        OAuth
	ClientCA     string              // path of a PEM file with the authorities of client certificates; "": none are taken
	Certificates []ClientCertificate // of principals
}

// A NamedToken is the bearer token of one principal.
type NamedToken struct {
	Name    string
	Secret  string
	Roles   []signin.Role // at least one
	Expires time.Time     // zero: never
}

// OAuth is the authorization server whose access tokens let principals in. The zero OAuth is none.
type OAuth struct {
	Issuer   string
	Audience string
	Claim    string // that names the principal; "" is sub
	Scopes   map[string]signin.Role
}

// A ClientCertificate is the name in one that a client may show, and its roles.
type ClientCertificate struct {
	Name  string
	Roles []signin.Role // at least one
}

// DefaultPublish is how often checkpoints are published.
const DefaultPublish = time.Minute

// Checkpoints is who signs checkpoints of the log, and where they go. The zero Checkpoints go nowhere.
type Checkpoints struct {
	Signer  Signer
	Every   time.Duration
	Publish []Publication
}

// A Publication is one place that gets checkpoints: a file, a URL or a witness.
type Publication struct {
	File    string
	URL     string            // gets them by PUT
	Headers map[string]string // of the requests to URL
	Witness string            // the submission prefix of a witness of c2sp.org/tlog-witness
	Key     string            // the witness's public key, as c2sp.org/signed-note has it
}

// An Auth is how Weir gets the access tokens of a server with a URL.
type Auth struct {
	Flow         Flow
	ClientID     string // "" has a client registered; an https URL is that of a client's metadata document
	ClientSecret string
	Issuer       string   // the only authorization server that may be used; "" is the one that the server names
	Scopes       []string // the only scopes requested; nil: those that the server names
	RedirectPort int      // of 127.0.0.1, where the browser comes back to; 0 is any
}

// A Flow is who is let in. "" is Browser.
type Flow string

// Notify is who is told of questions and findings. The zero Notify tells nobody.
type Notify struct {
	Desktop bool // the user at this machine
	Webhook Webhook
}

// A Webhook is told by HTTP requests.
type Webhook struct {
	URL     string        // "" if there is none
	Secret  string        // as it was written, expanded
	Key     []byte        // the secret decoded
	Answers bool          // whether its responses may answer questions
	Timeout time.Duration // of one request; 0 is the default of package notify
}

// Capture selects the parts of arguments and results to keep beyond their digests. The zero Capture keeps nothing.
type Capture struct {
	Content      bool                // all of them, encrypted
	Recipients   []string            // age public keys to encrypt to; none: the key that Weir makes beside its store
	Destinations bool                // the stated destinations of calls, in the clear
	Fields       map[string][]string // members that events hold in the clear, as /arguments/to: by SERVER/NAME, SERVER/* or *
}

// A Durability is when an event has to be on disk. The zero Durability is Default.
type Durability string

// The durabilities.
const (
	DefaultDurability Durability = ""        // before a call that may change or send anything; those of plain reads soon after
	Strict            Durability = "strict"  // before every call and every result
	Relaxed           Durability = "relaxed" // soon: a machine that fails may lose the newest events and labels
)

// The defaults of how long things are kept.
const (
	DefaultKeepSessions = 90 * 24 * time.Hour
	DefaultKeepLabels   = 90 * 24 * time.Hour
	DefaultKeepContent  = 30 * 24 * time.Hour
	DefaultKeepEvents   = 396 * 24 * time.Hour // 13 months
	DefaultStoreSize    = 20 << 30             // bytes
)

// Retention is how long things are kept. Zero is forever.
type Retention struct {
	Sessions time.Duration // since they were last heard of
	Labels   time.Duration // of resources, since they were last written
	Events   time.Duration
	Content  time.Duration // captured content
	Size     int64         // bytes of an SQLite store, beyond which the oldest events go
}

// A Signer is the program that signs checkpoints of the log. The zero Signer is none: a key of Weir's own signs.
type Signer struct {
	Command []string // the program and its arguments
	Key     string   // its public key, NAME+HASH+KEY as c2sp.org/signed-note has it
}

// The defaults of members that a file leaves out.
const (
	DefaultApproval   = 5 * time.Minute
	DefaultPace       = 750 * time.Millisecond
	DefaultHold       = 90 * time.Second
	DefaultStartup    = 10 * time.Second
	DefaultMaxMessage = 64 << 20
)

// The modes of detection. A Detection without one has DetectDefault.
const (
	DetectOff     = "off"
	DetectNotes   = "notes"
	DetectDefault = "default"
	DetectStrict  = "strict"
)

// Detection says how arguments and results are searched for sensitive values and instructions to the agent.
type Detection struct {
	Mode     string
	Effects  map[string]string   // of findings, by class or by rule: "off", "note" or "raise"; the rule counts first
	Sent     map[string][]string // the destinations before which findings in arguments are redacted, by class or by rule
	Rules    []string            // paths of TOML files with further rules
	Canaries []string            // values that the operator has put where nobody should have them from
	External []External          // detectors in other programs, in the order of the file
}

// An External is a detector in another program, which is sent the texts.
type External struct {
	Name      string
	Kind      string // "presidio", "classifier" or "moderation"
	URL       string
	Token     string        // a bearer token; "" sends none
	Timeout   time.Duration // 0 is the default
	Threshold int           // of scores, in percent; 0 is the default
	Language  string
	Labels    []string // that stand for instructions to the agent
}

// NoRecord is the value of Config.Record that asks for no record.
const NoRecord = "none"

// A Config is a configuration that passed every check, with defaults set, variables expanded and paths resolved.
type Config struct {
	Servers     []Server // in the order of the file, disabled ones included; at least one is enabled
	Policy      string   // path of the policy file, or name of a profile; "" is the built-in policy
	Own         Own
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
	Console     string // host:port of the console, on this machine; "" serves none
	Notify      Notify // who is told of questions and findings
	Approval    Approval
	Startup     time.Duration // how long hosts wait for servers that do not answer their handshake
	Limits      Limits        // of the resources of hosts, servers and agent sessions
	Results
	Pins     Pins      // how definitions of tools are pinned
	Words    Words     // which annotations are written, and the meaning of organisations' labels
	Warnings []Problem // valid settings that deserve a look
}

// Results is how results are searched and hidden.
type Results struct {
	Detect     Detection                 // of sensitive values, in arguments too
	Quarantine Quarantine                // answers questions about hidden results
	Templates  map[string]*plan.Template // plans of the operator
	Plan       string                    // "offer": agents may submit plans also where no result is hidden; "strict": and do nothing else
	Exec       bool                      // agents may have programs run
	Sanitizers map[string]sanitize.Rule  // ways of making hidden texts into others
	Isolated   []string                  // names of the hosts that may isolate agent sessions
}

// Own is the operator's and the user's own places.
type Own struct {
	Domains []string // of the operator, in lower case
	Me      []string // mail addresses of the user

	Readers map[string][]string // groups of readers: mail addresses, @ and a mail domain, or SERVER:DESTINATION
}

// An Approval is how people are asked.
type Approval struct {
	Timeout time.Duration // for which a request stays open
	NoHost  bool          // answers of hosts do not count
	Pace    time.Duration // answers of hosts that come sooner do not count; 0: all do
	Hold    time.Duration // for which a call waits whose host cannot ask; 0: it is refused at once
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
	Readers   []string      // groups who may read everything that it returns
	Expose    []string      // conditions on its tools, of which hosts are told if all hold
	Hide      []string      // tools of which results are hidden; AllResults is all
	Disabled  bool
}

// AllResults in Server.Hide stands for all tools and resources.
const AllResults = "*"

// Pins is how definitions of tools are pinned. The zero Pins pins each when it is first seen.
type Pins struct {
	File   string // path of weir.lock; "" for a place in Weir's state directory
	Review bool   // a tool that was never seen before has to be accepted too
	Off    bool   // nothing is pinned
}

// Limits bound the resources of hosts, servers and agent sessions together. A zero member is the default of the
// gateway.
type Limits struct {
	Message int // bytes of one message

	InFlight    int // bytes of messages over HTTP
	Connections int // over HTTP
	Sessions    int // over HTTP, in the older revisions
	Processes   int // of servers
	Traces      int // bytes remembered of agent sessions
}

// Words selects the dialects of annotations to write, by their ids, and gives the meaning of organisations' labels. A
// nil list is the default, an empty one writes nothing.
type Words struct {
	ToHosts   []string
	ToServers []string
	Labels    annotation.Meanings
	Evidence  []string // the places of records
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
