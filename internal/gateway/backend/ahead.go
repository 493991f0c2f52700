package backend

import (
	"errors"
	"sync"

	"github.com/weir-mcp/weir/internal/upstream"
)

// An Ahead are processes of servers that start before a host needs them.
type Ahead []*upstream.Ahead

// StartAhead starts the processes of servers that one host will need at once, as many as are started at once: they load
// while Weir does. The first connection to each server has its process. One that does not start is tried again then.
func StartAhead(servers []Server, o *Options) (all Ahead) {
	for i := range servers {
		spec := &servers[i].Spec
		if len(spec.Command) == 0 || spec.Start != nil { // or another process starts it, when it is asked for
			continue
		}
		if int64(len(all)) >= min(maxStarts, o.Budget.Processes.Limit()) {
			break
		}
		if a, err := upstream.Start(*spec, o.reaching(nil)); err == nil {
			spec.Ahead = a
			all = append(all, a)
		}
	}
	return all
}

// Close has those exit that no connection has.
func (all Ahead) Close() error {
	var ending sync.WaitGroup
	errs := make([]error, len(all))
	for i, a := range all {
		ending.Go(func() { errs[i] = a.Close() })
	}
	ending.Wait()
	return errors.Join(errs...)
}

// reaching returns the options by which servers are reached.
func (o *Options) reaching(h upstream.Handler) *upstream.Options {
	return &upstream.Options{Handler: h, Stderr: o.Stderr, MaxMessage: int(o.Budget.Message), BaseEnv: o.BaseEnv, Logger: o.Log}
}
