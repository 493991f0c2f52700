package contract

// Discloses reports whether outsiders may learn the input of a call: it may become public, or it is used for the call
// alone, by a tool that reaches an open world, where somebody receives it even if nobody keeps it.
func (c Contract) Discloses() bool {
	return c.Destinations.Has(Public) || c.OpenWorld == Yes && c.Destinations.Has(Ephemeral)
}

// Keeps reports whether the input of a call may stay anywhere: of all calls but reads in a closed world that use it for
// the call alone.
func (c Contract) Keeps() bool {
	return c.ReadOnly != Yes || c.OpenWorld == Yes || !Possible(Ephemeral).set.Contains(c.Destinations.set)
}
