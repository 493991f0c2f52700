package backend

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestBackoffDoublesUpToAMinute(t *testing.T) {
	cause := errors.New("no such program")
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var b backoff
	if err := b.waiting(now); err != nil {
		t.Errorf("before the first attempt: %v", err)
	}
	for _, longest := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		longest *= time.Second
		b.failed(now, cause)
		if err := b.waiting(now.Add(longest*3/4 - time.Millisecond)); !errors.Is(err, cause) || !strings.Contains(err.Error(), "tries again") {
			t.Errorf("within three quarters of %v: %v", longest, err)
		}
		now = now.Add(longest)
		if err := b.waiting(now); err != nil {
			t.Errorf("after %v: %v", longest, err)
		}
	}
	b = backoff{}
	b.failed(now, cause)
	if err := b.waiting(now.Add(time.Second)); err != nil {
		t.Errorf("a pause of a second, after a success: %v", err)
	}
}
