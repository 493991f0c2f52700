package record

// The kinds of events of a person's acts from outside of all agent sessions, or on one of them.
const (
	Declassify Kind = "declassify" // took something out of a session's label, which Label says, because of Message
	End        Kind = "end"        // had a session do nothing more, because of Message
	Begin      Kind = "begin"      // began a new conversation: Session is the agent session until then, Name that from then on
	Forget     Kind = "forget"     // removed a session, with the label that Label says, because of Message
	Erase      Kind = "erase"      // erases events or their captured content; Rule is how they were chosen, Message how many and why
	Exception  Kind = "exception"  // said that a finding is none, or is one after all: Binding is the ID, Effect "accepted" or "removed"
	Trust      Kind = "trust"      // the trust in a server is "lowered" after breaches of its contract, or "restored" by a person, as Effect says
	Restore    Kind = "restore"    // put a backup in the place of the state
	Show       Kind = "show"       // looked at a hidden result: Server and Name are its call, Message names it
)
