package config

import "regexp"

// A Signer is the program that signs checkpoints of the log. The zero Signer is none: a key of Weir's own signs.
type Signer struct {
	Command []string // the program and its arguments
	Key     string   // its public key, NAME+HASH+KEY as c2sp.org/signed-note has it
}

var publicKey = regexp.MustCompile(`^[^+\s]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=*$`)

// signer reads the program that signs checkpoints.
func (r reader) signer(m member) {
	s := &r.d.Config.Checkpoints.Signer
	r.object(m, fields{"command": r.texts(&s.Command), "key": r.text(&s.Key)})
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		r.d.Fault(m.at, "write command: [PROGRAM, ARGUMENT]", "audit.signer: there is no program that signs")
	case !publicKey.MatchString(s.Key):
		r.d.Fault(m.at, "write what weir audit key --pem FILE --name NAME prints", "audit.signer: its public key is missing, or none")
	}
}
