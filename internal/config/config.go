// Package config reads weir.yaml, the one file an operator writes: which servers there are, and how Weir treats
// them.
//
//	version: 1
//	servers:
//	  mail:
//	    command: npx
//	    args: ["-y", "@example/mail-server"]
//	    env: {MAIL_TOKEN: "${MAIL_TOKEN}"}
//	    trust: known
//	  search:
//	    url: https://search.example/mcp
//	    headers: {Authorization: "Bearer ${env:SEARCH_TOKEN}"}
//	policy: policy.yaml
//
// [Load] decodes strictly and reports every problem at once, each with its place and a remedy: an unknown or
// repeated field, a value of the wrong type, members that contradict each other, a variable that is not set.
// The values of command, args, env, url, headers and auth, and of a webhook, may be secrets and never appear in a problem.
//
// docs/configuration.md describes every member. Files of other hosts become the same [Config] through a
// [Draft]; see package importer.
//
// A Config is plain data. Nothing here starts, connects or writes anything.
package config

// Load reads the weir.yaml that was found at path. The error is [Errors]: every problem of the file, in its order.
func Load(path string, src []byte, opts Options) (*Config, error) {
	d := NewDraft(path)
	d.Config.Pins.File = LockName
	readYAML(d, src)
	return d.Finish(opts)
}
