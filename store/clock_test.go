package store

import (
	"testing"
	"time"
)

// TestAClockThatIsSetBack has a machine's clock jump between questions, while the process counts on.
func TestAClockThatIsSetBack(t *testing.T) {
	var c Clock
	start := time.Unix(1_763_719_200, 0).UTC()
	for _, step := range []struct {
		wall, passed, want time.Duration // since the start
	}{
		{0, 0, 0},
		{time.Minute, time.Minute, time.Minute},
		{-time.Hour, 2 * time.Minute, 2 * time.Minute},  // set back while nobody asked
		{-time.Hour, -time.Hour, 2 * time.Minute},       // a time without a monotonic reading
		{time.Hour, 3 * time.Minute, time.Hour},         // set ahead
		{4 * time.Minute, 4 * time.Minute, time.Hour},   // and back
		{2 * time.Hour, 5 * time.Minute, 2 * time.Hour}, // it has caught up
	} {
		if got := c.at(start.Add(step.wall), start, step.passed); !got.Equal(start.Add(step.want)) {
			t.Errorf("wall %v, passed %v: %v, want %v", step.wall, step.passed, got.Sub(start), step.want)
		}
	}
}

// TestAClockGoesOn asks a clock as back ends do.
func TestAClockGoesOn(t *testing.T) {
	var c Clock
	now := time.Now()
	first := c.At(now)
	if got := c.At(now.Add(time.Second).Round(0)); got.Sub(first) != time.Second {
		t.Errorf("a second later: %v", got.Sub(first))
	}
	if got := c.At(now); got.Sub(first) != time.Second {
		t.Errorf("it went back to %v", got.Sub(first))
	}
}
