// Package metrics writes figures in the text format of Prometheus, version 0.0.4.
//
//	err := metrics.Write(w, []metrics.Family{{
//		Name: "weir_calls_total", Help: "Requests to servers.", Kind: metrics.Counter,
//		Samples: []metrics.Sample{{Labels: []metrics.Label{{"server", "mail"}}, Value: 12}},
//	}})
//
//	# HELP weir_calls_total Requests to servers.
//	# TYPE weir_calls_total counter
//	weir_calls_total{server="mail"} 12
//
// Names of families and labels are the caller's constants. Values of labels may be any text: they are escaped.
package metrics

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// ContentType is the media type of the output of Write.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// A Kind is the type of a family.
type Kind string

// The kinds.
const (
	Counter Kind = "counter" // only grows, until the process starts again
	Gauge   Kind = "gauge"   // goes up and down
	Summary Kind = "summary" // quantiles by the label quantile, with samples of the suffixes _sum and _count
)

// A Family is samples of one name.
type Family struct {
	Name    string
	Help    string
	Kind    Kind
	Samples []Sample
}

// A Sample is one figure.
type Sample struct {
	Suffix string // of the name; "" for none
	Labels []Label
	Value  float64
}

// A Label tells samples of one family apart.
type Label struct{ Name, Value string }

// One returns a family of one figure.
func One(name, help string, kind Kind, value float64) Family {
	return Family{name, help, kind, []Sample{{Value: value}}}
}

// Write writes the families in their order, those without samples left out.
func Write(w io.Writer, families []Family) error {
	var b bytes.Buffer
	for _, f := range families {
		if len(f.Samples) == 0 {
			continue
		}
		b.WriteString("# HELP " + f.Name + " " + escape(f.Help) + "\n# TYPE " + f.Name + " " + string(f.Kind) + "\n")
		for _, s := range f.Samples {
			b.WriteString(f.Name + s.Suffix)
			for i, l := range s.Labels {
				b.WriteByte("{,"[min(i, 1)])
				b.WriteString(l.Name + `="` + strings.ReplaceAll(escape(l.Value), `"`, `\"`) + `"`)
			}
			if len(s.Labels) > 0 {
				b.WriteByte('}')
			}
			b.WriteString(" " + strconv.FormatFloat(s.Value, 'g', -1, 64) + "\n")
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// escape returns a text without line breaks and lone backslashes, in UTF-8.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\uFFFD"))
}
