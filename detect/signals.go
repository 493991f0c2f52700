package detect

// Levels of the score of a passage.
const (
	noteScore      = 2
	untrustedScore = 4
	maliciousScore = 6
)

// A family is signals that say the same: only the strongest of them counts.
type family uint8

const (
	setsAside family = iota
	speaksToAgent
	takesRole
	posesAsTurn
	posesAsHost
	claimsAuthority
	reframesTask
	presses
	conceals
	sendsOut
	callsTool
	asksForPrompt
	unbinds
	hides
	changesScript
	families // their number
)

// A signal is meanings that stand together. It is weak by itself: a passage is judged by the sum.
type signal struct {
	family  family
	weight  int
	within  int  // bytes from the first to the last of the meanings
	ordered bool // in this order only
	company bool // it counts only beside signals that are no mere company
	needs   []meaning
	why     string
}

// signals returns the table of signals.
func signals() []signal {
	return []signal{
		{setsAside, 5, 90, false, false, []meaning{toIgnore, prior, orders}, "tells the reader to ignore earlier instructions"},
		{setsAside, 4, 60, true, false, []meaning{toIgnore, everything, told}, "tells the reader to forget all that it was told"},
		{setsAside, 4, 40, true, false, []meaning{toIgnore, everything, orders}, "tells the reader to ignore its instructions"},
		{setsAside, 2, 40, true, false, []meaning{toIgnore, everything, prior}, "tells the reader to forget all that stands before"},
		{setsAside, 1, 40, true, true, []meaning{toIgnore, orders}, "speaks of ignoring instructions"},
		{speaksToAgent, 3, 50, false, false, []meaning{message, agent}, "speaks to an assistant or a model"},
		{speaksToAgent, 2, 50, true, false, []meaning{machine, duty}, "gives an assistant or a model a duty"},
		{speaksToAgent, 1, 0, false, true, []meaning{agent}, "names an assistant or a model"},
		{takesRole, 3, 0, false, false, []meaning{posing}, "gives the reader another role"},
		{posesAsTurn, 3, 0, false, false, []meaning{turn}, "has a marker of a chat template"},
		{posesAsHost, 2, 0, false, false, []meaning{bracket}, "has a tag that poses as one of the host"},
		{claimsAuthority, 2, 0, false, false, []meaning{authority}, "claims authority"},
		{reframesTask, 3, 0, false, false, []meaning{taskFrame}, "puts another task before the user's"},
		{presses, 1, 0, false, true, []meaning{urgent}, "presses"},
		{conceals, 3, 60, true, false, []meaning{negation, toTell, user}, "asks to keep something from the user"},
		{conceals, 2, 0, false, false, []meaning{secretly}, "asks for secrecy"},
		{sendsOut, 3, 160, true, false, []meaning{toSend, privateData, address}, "asks to send private data to an address"},
		{sendsOut, 1, 160, true, true, []meaning{toSend, address}, "asks to send something to an address"},
		{sendsOut, 4, 0, false, false, []meaning{leakingImage}, "has an image or a link with a place for data in its address"},
		{callsTool, 1, 0, false, true, []meaning{toolCall}, "asks for calls of tools"},
		{callsTool, 1, 0, false, false, []meaning{otherTool}, "tells the reader to call a tool that it has"},
		{callsTool, 2, 0, false, false, []meaning{actingTool}, "tells the reader to call a tool that it has, and that acts"},
		{asksForPrompt, 3, 50, false, false, []meaning{toReveal, ownPrompt}, "asks for the reader's instructions or secrets"},
		{unbinds, 3, 0, false, false, []meaning{unbound}, "tells the reader that it has no limits"},
		{hides, 2, 0, false, true, []meaning{hiddenPlace}, "stands where people do not see it"},
		{hides, 1, 0, false, true, []meaning{altText}, "stands beside an image"},
		{hides, 5, 0, false, false, []meaning{hiddenRun}, "is written in characters that do not show"},
		{hides, 2, 0, false, true, []meaning{splitWords}, "has characters inside of words that do not show"},
		{hides, 2, 0, false, true, []meaning{overridden}, "turns the direction of writing round"},
		{changesScript, 1, 0, false, true, []meaning{otherScript}, "is in another script than the text around it"},
	}
}
