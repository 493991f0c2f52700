package backend

import (
	"testing"
	"time"
)

func TestThrottle(t *testing.T) {
	var th Throttle
	now := time.Unix(0, 0)
	count := func(n int) (written, last int) {
		for range n {
			ok, final := th.Next(now)
			if ok {
				written++
			}
			if final {
				last++
			}
		}
		return written, last
	}
	if written, last := count(10 * maxDefects); written != maxDefects || last != 1 {
		t.Errorf("%d written, %d marked as the last", written, last)
	}
	now = now.Add(defectWindow)
	if written, _ := count(5); written != 5 {
		t.Errorf("%d of 5 written in the next window", written)
	}
}
