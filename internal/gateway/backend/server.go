package backend

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/upstream"
	"github.com/weir-mcp/weir/overlay"
)

// DefaultTimeout is how long a server may take to answer a call.
const DefaultTimeout = 5 * time.Minute

// trustTime is how long the store may take to say how far a server is trusted, of which nobody has asked yet. Then it
// is untrusted.
const trustTime = 10 * time.Second

// A Server is one upstream server as the operator configured it.
type Server struct {
	Name    string // unique; letters, digits, hyphen and underscore
	Spec    upstream.Spec
	Trust   contract.Trust
	Timeout time.Duration // for each call; zero: DefaultTimeout

	Overlay *overlay.Overlay // of its tools, resources and prompts, by the operator; nil: none
	Resolve time.Duration    // for it to resolve the contract of a call; see [resolution.Tool]
	Hide    []string         // tools of which results are hidden; "*" is all
	Readers []string         // groups of readers of everything that it returns
	Expose  guard.Exposure   // of its tools
	Program string           // stands for its command in any folder; "" if it has none
	Place   string           // stands for its place in a configuration file; "" if it has none
	guard.Way
}

// Same reports whether two servers are reached and treated in the same way.
func (s Server) Same(other Server) bool {
	like := s
	like.Spec, like.Overlay, like.Expose = other.Spec, other.Overlay, other.Expose
	return s.Spec.Same(other.Spec) && s.Overlay.Equal(other.Overlay) && s.Expose.Equal(other.Expose) && reflect.DeepEqual(like, other)
}

// The settings of a server are those that may change while it is connected.
type settings struct {
	of      atomic.Pointer[Server]
	conduct *Conduct
	counts  atomic.Pointer[contract.Trust] // how far it is trusted at most, as was seen last; nil: nobody has looked
}

// agree takes over the settings of a configured server.
func (s *settings) agree(server Server) {
	if server.Timeout <= 0 {
		server.Timeout = DefaultTimeout
	}
	s.of.Store(&server)
	s.counts.Store(nil)
}

// Trust returns how far the server is trusted: as the operator says, or less after breaches of its contract.
func (s *settings) Trust() contract.Trust {
	of, counts := s.of.Load(), s.counts.Load()
	if of.Trust == contract.Untrusted || s.conduct.Trust == nil {
		return of.Trust
	}
	if counts == nil {
		ctx, stop := context.WithTimeout(context.Background(), trustTime)
		defer stop()
		trust, err := s.conduct.Trust(ctx, of)
		if err != nil {
			return contract.Untrusted
		}
		s.counts.CompareAndSwap(nil, &trust[0])
		return trust[0]
	}
	return min(*counts, of.Trust) // of another configuration, perhaps
}

// heed notes how far the server is trusted now, and reports whether that has changed since it was noted last.
func (s *settings) heed(trust contract.Trust) (changed bool) {
	before := s.counts.Swap(&trust)
	return before != nil && *before != trust
}

// Overlay returns the operator's descriptions of the server; nil if there are none.
func (s *settings) Overlay() *overlay.Overlay { return s.of.Load().Overlay }

// Resolve returns how long the server may take to resolve a contract: see [resolution.Tool].
func (s *settings) Resolve() time.Duration { return s.of.Load().Resolve }

// Hides reports whether the operator has results of a tool hidden, or of a resource if all are.
func (s *settings) Hides(tool string) bool {
	hide := s.of.Load().Hide
	return slices.Contains(hide, "*") || slices.Contains(hide, tool)
}

// Readers returns the groups who may read everything that the server returns.
func (s *settings) Readers() []string { return s.of.Load().Readers }

// Expose returns the conditions on the tools that hosts are told of.
func (s *settings) Expose() guard.Exposure { return s.of.Load().Expose }

// Way returns how the server is reached.
func (s *settings) Way() guard.Way { return s.of.Load().Way }

// HidesAny reports whether the operator has results of any tool hidden.
func (s *settings) HidesAny() bool { return len(s.of.Load().Hide) > 0 }

// timeout returns how long the server may take to answer.
func (s *settings) timeout() time.Duration { return s.of.Load().Timeout }
