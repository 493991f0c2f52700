package setup

import (
	"time"
)

// Steady loads a setup until two loads with a pause in between agree: a file that is being written is not whole. The
// last one is returned in any case; it may then wait for a person like any other that loosens.
func Steady(load func() (*Setup, error), wait func(time.Duration)) (*Setup, error) {
	s, err := load()
	for range 10 {
		wait(Settle)
		again, errAgain := load()
		same := errText(err) == errText(errAgain) && (err != nil || again.Same(s))
		if s, err = again, errAgain; same {
			break
		}
	}
	return s, err
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Settle is how long the files must be left alone before they are read again: who writes them may not be done.
const Settle = 200 * time.Millisecond
