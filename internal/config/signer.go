package config

import "github.com/weir-mcp/weir/internal/pattern"

var publicKey = pattern.New(`^[^+\s]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=*$`)

// readSigner reads the program that signs checkpoints.
func readSigner(r reader, m member) {
	s := &r.d.Config.Checkpoints.Signer
	r.object(m, fields{"command": r.texts(&s.Command), "key": r.text(&s.Key)})
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		r.d.Fault(m.at, "write command: [PROGRAM, ARGUMENT]", "audit.signer: there is no program that signs")
	case !publicKey().MatchString(s.Key):
		r.d.Fault(m.at, "write the line that weir audit key --pem FILE --name NAME prints", "audit.signer: its public key is missing, or none")
	}
}
