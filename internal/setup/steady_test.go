package setup

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/config"
)

// TestSteady has a file written piece by piece: the setup is that of the whole file.
func TestSteady(t *testing.T) {
	c := &config.Config{}
	whole, part := setupOf(t, c, twoRules), setupOf(t, c, twoRules[:strings.Index(twoRules, "  - {name: b")])
	for _, reads := range [][]*Setup{{whole, whole}, {part, whole, whole}, {nil, part, whole, whole}, {part, nil, whole, whole}} {
		n := 0
		got, err := Steady(func() (*Setup, error) {
			n++
			if s := reads[min(n, len(reads))-1]; s != nil {
				return s, nil
			}
			return nil, errors.New("half a file")
		}, func(time.Duration) {})
		if err != nil || !got.Same(whole) || n != len(reads) {
			t.Errorf("%d reads of %d: %v", n, len(reads), err)
		}
	}
}
