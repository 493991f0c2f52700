package metrics_test

import (
	"bufio"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/metrics"
)

func TestWrite(t *testing.T) {
	var b strings.Builder
	err := metrics.Write(&b, []metrics.Family{
		metrics.One("weir_hosts", "Hosts\nthat are \\ connected.", metrics.Gauge, 2),
		{Name: "weir_none_total", Help: "None.", Kind: metrics.Counter},
		{Name: "weir_seconds", Help: "Seconds.", Kind: metrics.Summary, Samples: []metrics.Sample{
			{Labels: []metrics.Label{{Name: "quantile", Value: "0.5"}}, Value: 1.25}, {Suffix: "_sum", Value: 3e9}, {Suffix: "_count", Value: 4},
		}},
		{Name: "weir_calls_total", Help: "Calls.", Kind: metrics.Counter, Samples: []metrics.Sample{
			{Labels: []metrics.Label{{Name: "server", Value: "a\"b\\c\nd\xff"}, {Name: "x", Value: ""}}, Value: 7},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `# HELP weir_hosts Hosts\nthat are \\ connected.
# TYPE weir_hosts gauge
weir_hosts 2
# HELP weir_seconds Seconds.
# TYPE weir_seconds summary
weir_seconds{quantile="0.5"} 1.25
weir_seconds_sum 3e+09
weir_seconds_count 4
# HELP weir_calls_total Calls.
# TYPE weir_calls_total counter
weir_calls_total{server="a\"b\\c\nd` + "\uFFFD" + `",x=""} 7
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoLabelBreaksALine draws values of labels: each sample stays one line of its form.
func TestNoLabelBreaksALine(t *testing.T) {
	line := regexp.MustCompile(`^m\{l="([^"\\\n]|\\["\\n])*"\} 1$`)
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		value := rapid.String().Draw(t, "value")
		if err := metrics.Write(&b, []metrics.Family{{Name: "m", Kind: metrics.Gauge, Samples: []metrics.Sample{
			{Labels: []metrics.Label{{Name: "l", Value: value}}, Value: 1},
		}}}); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(strings.NewReader(b.String()))
		n := 0
		for ; lines.Scan(); n++ {
			if n == 2 && !line.MatchString(lines.Text()) {
				t.Errorf("%q", lines.Text())
			}
		}
		if n != 3 {
			t.Errorf("%d lines", n)
		}
	})
}
