package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// A report is the result of a run. The flag -json prints it as JSON.
type report struct {
	Go      string `json:"go"`
	System  string `json:"system"`
	CPUs    int    `json:"cpus"`
	Results []row  `json:"results"`
}

// A row is one way in one cell. Ratios are to the relay in the same cell.
type row struct {
	cell
	Way        string  `json:"way"`
	Calls      int     `json:"calls"`
	P50        float64 `json:"p50_us"`           // of a call, in microseconds
	P99        float64 `json:"p99_us"`           // likewise
	Tail       float64 `json:"p99_ratio"`        // p99 to that of the relay
	PerSecond  float64 `json:"calls_per_second"` // of all callers together
	Latency    float64 `json:"p50_ratio"`        // p50 to that of the relay
	Throughput float64 `json:"throughput_ratio"` // calls per second to those of the relay

	// Of the process between client and server; zero for the direct way and where the system does not say.
	Peak    int64   `json:"peak_bytes"`      // of resident memory since the process began
	Growth  float64 `json:"growth_payloads"` // how far small calls are exceeded by that, in payloads
	Mallocs float64 `json:"mallocs_per_call"`
	Bytes   float64 `json:"allocated_bytes_per_call"`
}

func newReport() *report {
	return &report{Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU()}
}

// add computes the rows of a cell.
func (r *report) add(c cell, samples map[string]*sample) {
	var rows []row
	for _, name := range c.ways() {
		s, ok := samples[name]
		if !ok {
			continue
		}
		slices.Sort(s.latencies)
		calls := len(s.latencies)
		w := row{cell: c, Way: name, Calls: calls, P50: s.quantile(50), P99: s.quantile(99)}
		w.PerSecond = float64(calls) / s.busy.Seconds()
		if name != direct && name != disk && c.Transport != starting {
			w.Peak = s.used.Peak
			w.Growth = float64(s.used.Peak-s.before) / float64(c.Size)
			w.Mallocs = float64(s.used.Mallocs) / float64(calls)
			w.Bytes = float64(s.used.Bytes) / float64(calls)
		}
		rows = append(rows, w)
	}
	if i := slices.IndexFunc(rows, func(w row) bool { return w.Way == relay }); i >= 0 {
		base := rows[i]
		for i := range rows {
			rows[i].Latency = rows[i].P50 / base.P50
			rows[i].Tail = rows[i].P99 / base.P99
			rows[i].Throughput = rows[i].PerSecond / base.PerSecond
		}
	}
	r.Results = append(r.Results, rows...)
}

// quantile returns the time of a call, in microseconds, that so many percent of the calls do not exceed.
func (s *sample) quantile(percent int) float64 {
	n := len(s.latencies)
	return float64(s.latencies[min(n*percent/100, n-1)]) / float64(time.Microsecond)
}

// print writes the report as tables for people.
func (r *report) print(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s, %d CPUs; ratios are to the relay\n", r.Go, r.System, r.CPUs)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	var last cell
	for _, row := range r.Results {
		if row.cell != last {
			last = row.cell
			if err := w.Flush(); err != nil {
				return err
			}
			fmt.Fprintf(out, "\n%s\n", row.cell)
			fmt.Fprintln(w, "way\tcalls\tp50 µs\tp99 µs\tcalls/s\tp50 ratio\tp99 ratio\tcalls ratio\tpeak MiB\t+payloads\tallocs\tKiB\t")
		}
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t",
			row.Way, row.Calls, row.P50, row.P99, row.PerSecond, row.Latency, row.Tail, row.Throughput)
		if row.Peak == 0 {
			fmt.Fprint(w, "\t\t\t\t\n")
			continue
		}
		growth := fmt.Sprintf("%.1f", row.Growth)
		if row.Size < 1<<20 {
			growth = "" // lost among all else
		}
		fmt.Fprintf(w, "%.1f\t%s\t%.0f\t%.1f\t\n", float64(row.Peak)/(1<<20), growth, row.Mallocs, row.Bytes/1024)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	r.printSummary(out)
	return nil
}

// printSummary writes the figures of Weir as it is by default as the tables of docs/performance.md.
func (r *report) printSummary(out io.Writer) {
	fmt.Fprint(out, "\n| ratios to the relay | p50 | p99 | calls |\n| --- | --- | --- | --- |\n")
	for _, w := range r.Results {
		if w.Way == weirOn && w.Transport != starting {
			fmt.Fprintf(out, "| %s | %.1f | %.1f | %.2f |\n", w.cell, w.Latency, w.Tail, w.Throughput)
		}
	}
	fmt.Fprint(out, "\n| start, ms | p50 | p99 | more than direct, p50 |\n| --- | --- | --- | --- |\n")
	before := 0.0
	for _, w := range r.Results {
		switch {
		case w.Transport == starting && w.Way == direct:
			before = w.P50
		case w.Transport == starting && w.Way == weirOn:
			more := ""
			if w.Tool != version {
				more = fmt.Sprintf("%.1f", (w.P50-before)/1000)
			}
			fmt.Fprintf(out, "| %s | %.1f | %.1f | %s |\n", w.Tool, w.P50/1000, w.P99/1000, more)
		}
	}
}
