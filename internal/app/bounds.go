package app

// Bounds of the text of others in listings.
const (
	MaxName = 128     // runes of a name that are shown
	MaxLine = 4 << 10 // runes of a line that are shown
)

// MaxTold is the number of characters that are shown of a text from another process.
const MaxTold = 1000
