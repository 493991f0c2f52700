package cli_test

import (
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/internal/cli"
)

// collection returns the percentage of growth at which the collector runs, and the limit of memory.
func collection() [2]uint64 {
	all := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(all)
	return [2]uint64{all[0].Value.Uint64(), all[1].Value.Uint64()}
}

// A start is without collection, within bounds, and the process is as before after it.
func TestDelayCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := collection()
		cli.DelayCollection()
		if now := collection(); now[0] <= before[0] || now[1] > 256<<20 {
			t.Errorf("at the start: %v, before it: %v", now, before)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if now := collection(); now != before {
			t.Errorf("after the start: %v, before it: %v", now, before)
		}
	})
}
