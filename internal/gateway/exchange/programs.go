package exchange

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/hosterror"
)

// A doneCall is a call that a program has made, and the ID of its result.
type doneCall struct {
	call   [sha256.Size]byte
	result string
}

// Bounds of programs. No program waits in the place of another, since that one would make its calls again.
const (
	maxWaiting          = 1024 // for approvals
	maxWaitingPrincipal = 32
	maxRunning          = 8
	maxRunningPrincipal = 4
)

// programs are the programs that run, and the calls of those that ended at an approval request, or in an answer
// about which a person is asked: the same program of the same agent session does not make them again while the
// request may be answered.
type programs struct {
	mu      sync.Mutex
	running map[string]string // the principal, by key of the program
	waiting map[string]waitingProgram
}

type waitingProgram struct {
	principal string
	done      []doneCall
	said      map[string]any // the answer, of a program that has come to its end
	until     time.Time
}

var (
	errRunning = hosterror.New("too many programs run already")
	errSame    = hosterror.New("the same program runs already")
	errWaiting = hosterror.New("too many programs wait for approvals already: answer these, or wait until they expire")
)

// begin has a program of a principal run, and returns it as it waited before; the zero waitingProgram if it did not.
// Each program that began has to end.
func (p *programs) begin(principal, key string) (waitingProgram, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting, p.running = map[string]waitingProgram{}, map[string]string{}
	}
	if _, ok := p.running[key]; ok {
		return waitingProgram{}, errSame
	}
	mine := 0
	for _, owner := range p.running {
		if owner == principal {
			mine++
		}
	}
	if len(p.running) >= maxRunning || mine >= maxRunningPrincipal {
		return waitingProgram{}, errRunning
	}
	mine = 0
	for other, w := range p.waiting {
		switch {
		case time.Now().After(w.until):
			delete(p.waiting, other)
		case w.principal == principal:
			mine++
		}
	}
	before, again := p.waiting[key]
	if full := len(p.waiting)+len(p.running) >= maxWaiting || mine >= maxWaitingPrincipal; full && !again {
		return waitingProgram{}, errWaiting
	}
	delete(p.waiting, key)
	p.running[key] = principal
	return before, nil
}

// end ends a program, which may be run again with the calls that it has made if it waits for an approval.
func (p *programs) end(key string, waits *waitingProgram) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, key)
	if waits != nil {
		p.waiting[key] = *waits
	}
}
