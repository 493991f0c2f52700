package upstream

import "sync/atomic"

// An Ahead is a child that starts while nobody needs it yet. It gets no message and is not read before the first
// [Dial] of a [Spec] that has it, whose connection it belongs to then.
type Ahead struct{ process atomic.Pointer[process] }

// Start starts the spec's command. The options are those of Dial, without its Handler.
func Start(spec Spec, opts *Options) (*Ahead, error) {
	p, err := startProcess(spec, opts.withDefaults(), nil)
	if err != nil {
		return nil, err
	}
	a := &Ahead{}
	a.process.Store(p)
	return a, nil
}

// take returns the child for a connection; nil if another one has it, or there is none.
func (a *Ahead) take(to receiver) *process {
	if a == nil {
		return nil
	}
	p := a.process.Swap(nil)
	if p != nil {
		p.to = to
	}
	return p
}

// Close has the child exit, unless it belongs to a connection.
func (a *Ahead) Close() error {
	if p := a.take(nil); p != nil {
		return p.Close()
	}
	return nil
}
