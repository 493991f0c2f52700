package setup

import (
	"encoding/json"
	"sync"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/inputschema"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/searcher"
)

// findings are the names that effects of detection go by.
func findings() (names []string) {
	for _, c := range detect.Classes() {
		names = append(names, string(c))
	}
	for _, r := range detect.Rules() {
		names = append(names, string(r.Kind))
	}
	return names
}

// Detection returns the search of arguments and results of a setup.
func Detection(s *Setup) guard.Detection {
	c := s.Config.Detect
	if c.Mode == config.DetectOff {
		return guard.Detection{}
	}
	d := guard.Detection{
		Detector: scannerOf(s), Notes: c.Mode == config.DetectNotes, Strict: c.Mode == config.DetectStrict,
		Effects: map[string]guard.FindingEffect{}, Conforms: conforms,
	}
	for name, words := range c.Sent {
		if d.Sent == nil {
			d.Sent = map[string][]contract.Destination{}
		}
		for _, word := range words {
			d.Sent[name] = append(d.Sent[name], contract.Destination(word))
		}
	}
	if len(c.External) > 0 {
		d.Detector = together(d.Detector, c.External)
	}
	for name, word := range c.Effects {
		d.Effects[name] = map[string]guard.FindingEffect{
			"off": guard.Ignore, "note": guard.Note, "raise": guard.Raise,
			"redact": guard.Redact, "strip": guard.Strip, "spotlight": guard.Spotlight,
		}[word]
	}
	return d
}

// common is the scanner of every setup without rules and canaries of its own, in one process. It takes 9 MB.
var common = sync.OnceValue(detect.New)

// scannerOf returns the scanner of a setup.
func scannerOf(s *Setup) *detect.Scanner {
	if len(s.Config.Detect.Canaries) == 0 && len(s.Rules) == 0 {
		return common()
	}
	more := detect.Options{Canaries: s.Config.Detect.Canaries}
	if len(s.Rules) > 0 {
		more.Further = []detect.Search{s.Rules.Search}
	}
	return detect.NewWith(more)
}

// conforms reports whether structured content satisfies an output schema.
func conforms(schema, content json.RawMessage) bool {
	return rawjson.Kind(content) == '{' && inputschema.Compile(schema).Check(content).Violates == ""
}

// together returns a detector with others in other programs.
func together(own guard.Detector, others []config.External) searcher.Together {
	all := searcher.Together{own}
	for _, x := range others {
		all = append(all, searcher.New(searcher.Options{
			Name: x.Name, Kind: searcher.Kind(x.Kind), URL: x.URL, Token: x.Token, Timeout: x.Timeout,
			Threshold: float64(x.Threshold) / 100, Language: x.Language, Labels: x.Labels,
		}))
	}
	return all
}
