package draft

// A family is words that mean the same kind of thing in the name of a tool or an argument.
type family struct {
	name  string
	words []string
}

// The families of verbs for the work of tools. A name's first verb counts most, so these are looked up word by word in
// its order.
var (
	reading = family{"reading", []string{"get", "list", "read", "search", "find", "query", "fetch", "show", "describe", "count", "lookup",
		"view", "check", "browse", "inspect", "status", "info", "stat", "tree", "directory", "download", "retrieve", "load", "preview", "watch", "explain"}}
	writing = family{"writing", []string{"create", "add", "insert", "update", "edit", "set", "write", "put", "patch", "save", "rename", "move",
		"copy", "append", "modify", "replace", "import", "new", "make", "assign", "merge", "restore", "upsert", "configure", "enable", "disable", "store", "schedule", "close", "open", "fork"}}
	destroying = family{"destroying", []string{"delete", "remove", "drop", "destroy", "purge", "truncate", "reset", "revoke", "kill", "terminate",
		"clear", "wipe", "uninstall", "erase", "overwrite", "unpublish", "expire"}}
	sending = family{"sending", []string{"send", "email", "mail", "post", "publish", "share", "invite", "reply", "comment", "message", "notify",
		"tweet", "upload", "push", "webhook", "forward", "submit", "call", "dial", "broadcast", "export"}}
	paying    = family{"paying", []string{"pay", "transfer", "order", "buy", "purchase", "charge", "refund", "book", "checkout", "withdraw", "subscribe"}}
	executing = family{"running code", []string{"run", "exec", "execute", "eval", "evaluate", "shell", "command", "script", "terminal", "bash", "python", "process"}}
)

// creating are the verbs of these by which a tool makes something that was not there.
var creating = family{"making", []string{"create", "add", "insert", "new", "make", "append", "import", "upload", "publish", "post"}}

// The families of nouns for the objects of tools.
var (
	untrustedContent = family{"untrusted content", []string{"mail", "email", "inbox", "message", "messages", "issue", "issues", "comment",
		"comments", "web", "page", "pages", "url", "fetch", "search", "browser", "navigate", "snapshot", "review", "reviews", "ticket", "tickets",
		"feed", "rss", "thread", "channel", "channels", "tweet", "tweets", "calendar", "event", "events", "document", "documents",
		"scrape", "crawl", "pull"}}
	secrets = family{"secrets", []string{"secret", "secrets", "credential", "credentials", "password", "passwords", "token", "tokens", "key", "keys", "env", "vault", "certificate"}}
	people  = family{"data of people", []string{"contact", "contacts", "user", "users", "profile", "profiles", "customer", "customers", "employee",
		"employees", "patient", "person", "people", "lead", "leads", "member", "members", "mail", "email", "inbox", "calendar", "address"}}
	money = family{"money", []string{"payment", "payments", "invoice", "invoices", "bank", "account", "balance", "transaction", "transactions", "billing", "card", "salary", "price", "charge"}}
	files = family{"files and stored data", []string{"file", "files", "directory", "database", "db", "table", "tables", "sql", "row", "rows", "note", "notes", "memory", "record", "records", "repo", "repository"}}
)

// The families of arguments.
var (
	places = family{"a place or a thing", []string{"recipient", "recipients", "address", "addresses", "url", "uri", "urls", "hostname", "identifier",
		"id", "ids", "uuid", "iban", "channel", "path", "folder", "repository", "account"}}
	identifiers = family{"the thing that the tool acts on", []string{"id", "ids", "uid", "uuid", "guid", "identifier", "key", "ref", "slug", "handle",
		"number", "numbers", "sha", "name", "names", "user", "users", "username", "member", "members", "assignee", "assignees", "project", "team", "group"}}
	powers = family{"the people who may see or do something", []string{"public", "visibility", "visible", "share", "shared", "sharing", "access", "role",
		"roles", "permission", "permissions", "scope", "scopes", "everyone", "anyone", "all", "admin", "force", "recursive", "audience", "privacy"}}
	texts = family{"text that goes there", []string{"body", "text", "content", "contents", "message", "subject", "description", "payload", "html",
		"markdown", "comment", "note", "summary", "caption"}}
	measures = family{"an amount", []string{"amount", "limit", "count", "page", "size", "offset", "max", "min", "quantity", "priority", "days", "hours",
		"minutes", "seconds", "width", "height", "depth", "timeout", "price", "total", "duration", "score", "rating"}}
	contents = family{"content that goes there", []string{"title", "data", "attachment", "attachments", "value", "values", "query", "prompt", "code",
		"script", "command", "sql"}}
)

func (f family) has(word string) bool {
	for _, w := range f.words {
		if w == word {
			return true
		}
	}
	return false
}

// first returns the first of the words that the family has.
func (f family) first(words []string) (string, bool) {
	for _, w := range words {
		if f.has(w) {
			return w, true
		}
	}
	return "", false
}
