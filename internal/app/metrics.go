package app

import (
	"net/http"
	"slices"

	"github.com/weir-mcp/weir/internal/metrics"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// serveMetrics serves the status of this process in the text format of Prometheus.
func (t *statusSource) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", metrics.ContentType)
	w.Header().Set("Cache-Control", "no-store")
	p := t.process()
	if err := metrics.Write(w, slices.Concat(processFamilies(p), budgetFamilies(p), peopleFamilies(p))); err != nil {
		t.log.Debug("writing the metrics", "error", err)
	}
}

// processFamilies tells of a process and its servers.
func processFamilies(p status.Process) []metrics.Family {
	info := metrics.Sample{Value: 1, Labels: []metrics.Label{
		{Name: "version", Value: p.Version}, {Name: "mode", Value: p.Mode}, {Name: "policy", Value: p.Digest},
	}}
	calls := metrics.Family{Name: "weir_calls_total", Help: "Requests to servers on behalf of hosts, with those in flight.", Kind: metrics.Counter}
	inFlight := metrics.Family{Name: "weir_calls_in_flight", Help: "Requests to servers that have no answer yet.", Kind: metrics.Gauge}
	open := metrics.Family{Name: "weir_server_connections", Help: "Open connections to servers.", Kind: metrics.Gauge}
	for _, s := range p.Servers {
		if s.Disabled {
			continue
		}
		of := []metrics.Label{{Name: "server", Value: s.Name}}
		calls.Samples = append(calls.Samples, metrics.Sample{Labels: of, Value: float64(s.Calls)})
		inFlight.Samples = append(inFlight.Samples, metrics.Sample{Labels: of, Value: float64(s.InFlight)})
		open.Samples = append(open.Samples, metrics.Sample{Labels: of, Value: float64(s.Connections)})
	}
	store := metrics.Family{Name: "weir_store_state", Help: "1 for the state that the store is in.", Kind: metrics.Gauge}
	for _, state := range []sqlstore.State{sqlstore.OK, sqlstore.Moved, sqlstore.Stalled, sqlstore.Damaged, sqlstore.Failing} {
		if p.Store == nil {
			break
		}
		one := metrics.Sample{Labels: []metrics.Label{{Name: "state", Value: string(state)}}}
		if p.Store.State == string(state) {
			one.Value = 1
		}
		store.Samples = append(store.Samples, one)
	}
	refused := metrics.Family{Name: "weir_store_rows_refused", Help: "Rows of the state that the log does not prove.", Kind: metrics.Gauge}
	if p.Store != nil {
		rows := metrics.Sample{}
		if p.Store.Refused != nil {
			rows.Value = float64(p.Store.Refused.Rows)
		}
		refused.Samples = append(refused.Samples, rows)
	}
	return []metrics.Family{
		store, refused,
		{Name: "weir_info", Help: "Version, mode and digest of the policy.", Kind: metrics.Gauge, Samples: []metrics.Sample{info}},
		metrics.One("weir_start_time_seconds", "When the process started, in seconds since 1970.", metrics.Gauge, float64(p.Started.Unix())),
		metrics.One("weir_hosts", "Hosts that are connected.", metrics.Gauge, float64(p.Hosts)),
		calls, inFlight, open,
	}
}

// budgetFamilies tells the use of each resource.
func budgetFamilies(p status.Process) []metrics.Family {
	families := []metrics.Family{
		{Name: "weir_budget_used", Help: "What is taken of each resource.", Kind: metrics.Gauge},
		{Name: "weir_budget_peak", Help: "The most that was taken of each resource.", Kind: metrics.Gauge},
		{Name: "weir_budget_limit", Help: "What there is of each resource.", Kind: metrics.Gauge},
		{Name: "weir_budget_refused_total", Help: "Times that something new was turned away for want of a resource.", Kind: metrics.Counter},
		{Name: "weir_budget_evicted_total", Help: "Times that something older gave way to something new.", Kind: metrics.Counter},
	}
	for _, u := range p.Budget {
		of := []metrics.Label{{Name: "resource", Value: u.Name}}
		for i, n := range []int64{u.Used, u.Peak, u.Limit, u.Refused, u.Evicted} {
			families[i].Samples = append(families[i].Samples, metrics.Sample{Labels: of, Value: float64(n)})
		}
	}
	return families
}

// peopleFamilies tells how much people are asked and told.
func peopleFamilies(p status.Process) []metrics.Family {
	told := metrics.Family{Name: "weir_notifications_total", Help: "What became of notifications, by channel.", Kind: metrics.Counter}
	for _, n := range p.Notifications {
		told.Samples = append(told.Samples, metrics.Sample{
			Labels: []metrics.Label{{Name: "channel", Value: n.Channel}, {Name: "result", Value: n.Result}}, Value: float64(n.Count),
		})
	}
	a := p.Approvals
	if a == nil {
		return []metrics.Family{told}
	}
	by := func(answer string, n int) metrics.Sample {
		return metrics.Sample{Labels: []metrics.Label{{Name: "answer", Value: answer}}, Value: float64(n)}
	}
	at := func(quantile string, seconds float64) metrics.Sample {
		return metrics.Sample{Labels: []metrics.Label{{Name: "quantile", Value: quantile}}, Value: seconds}
	}
	return []metrics.Family{
		metrics.One("weir_approvals_asked_total", "Questions to people, of all processes on the store.", metrics.Counter, float64(a.Asked)),
		{Name: "weir_approvals_answered_total", Help: "Questions that are over, by what became of them.", Kind: metrics.Counter,
			Samples: []metrics.Sample{by("accepted", a.Accepted), by("denied", a.Denied), by("expired", a.Expired)}},
		metrics.One("weir_approvals_open", "Questions that wait for an answer.", metrics.Gauge, float64(a.Open)),
		{Name: "weir_approval_answer_seconds", Help: "How long people took to answer.", Kind: metrics.Summary, Samples: []metrics.Sample{
			at("0.5", a.Median), at("0.9", a.P90), {Suffix: "_sum", Value: a.Spent}, {Suffix: "_count", Value: float64(a.Answered)},
		}},
		told,
	}
}
