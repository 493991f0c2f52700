package config

import (
	"net/url"
	"strings"
)

// MemoryStore is the value of Config.Store that keeps the state in memory, as long as the process lives.
const MemoryStore = "memory"

// checkStore expands variables in the place of the state and checks it. No message quotes it: it may hold a password.
func checkStore(d *Draft, opts Options, dir string) {
	c := &d.Config
	value, flaws := expand(c.Store, opts.Lookup)
	for _, f := range flaws {
		d.Fault(d.Place(Pointer("store")), f.hint, "store: %s", f.msg)
	}
	if c.Store = value; len(flaws) > 0 {
		return
	}
	target, err := ParseStore(value)
	if err != "" {
		d.Fault(d.Place(Pointer("store")), storeHint, "store: %s", err)
	}
	if c.Store = target; target != "" && target != MemoryStore && !strings.Contains(target, "://") {
		c.Store = resolve(dir, target)
	}
}

const storeHint = "write memory, a path, or postgres://USER@HOST/DATABASE"

// ParseStore returns the place that a value of store or --store names, or the value's problem.
func ParseStore(value string) (target, wrong string) {
	switch scheme, _, isURL := strings.Cut(value, "://"); {
	case strings.ContainsRune(value, 0):
		return "", "a NUL byte"
	case !isURL:
		return value, ""
	case scheme != "postgres" && scheme != "postgresql":
		return "", "a database that is not known here"
	}
	if _, err := url.Parse(value); err != nil {
		return "", "not a URL"
	}
	return value, ""
}
