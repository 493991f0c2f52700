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
	places = family{"a place that something can go to", []string{"to", "cc", "bcc", "recipient", "recipients", "email", "emails", "url", "uri", "urls", "link",
		"endpoint", "webhook", "host", "hostname", "domain", "address", "channel", "phone", "iban", "account", "destination", "target", "path", "bucket", "repo", "owner", "remote"}}
	contents = family{"content that goes there", []string{"body", "text", "content", "contents", "message", "subject", "title", "description", "data",
		"payload", "html", "markdown", "comment", "attachment", "attachments", "file", "files", "value", "values", "query", "prompt", "code", "script", "command", "sql"}}
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
