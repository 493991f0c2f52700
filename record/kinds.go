package record

// The kinds of events of what a person did to an agent session from outside of it.
const (
	Declassify Kind = "declassify" // took something out of a session's label, which Label says, because of Message
	End        Kind = "end"        // ended a session, because of Message
)
