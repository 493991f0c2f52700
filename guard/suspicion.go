package guard

import (
	"encoding/json"
	"slices"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
)

// unsuspicious returns the facts of findings that are data for tools to have, and no sign of an attack: a secret, a
// canary or text that speaks to the agent in arguments is one.
func unsuspicious(found []detect.Finding) policy.Findings {
	return factsOf(slices.DeleteFunc(slices.Clone(found), func(f detect.Finding) bool {
		return f.Class != detect.Personal && f.Class != detect.Financial
	}))
}

// suspicious reports whether a rule with the effect of the decision matches only because of signs of an attack:
// findings in the arguments, or a session that counts as malicious.
func (in *decisionInput) suspicious(by *rules, d decision) bool {
	f := in.facts
	if f.Phase != policy.OnCall || in.request.asked || d.Rule == RulePlan {
		return false
	}
	if f.Call.Found.Count == in.harmless.Count && !f.Session.Label.Malicious {
		return false
	}
	innocent := *f
	innocent.Session.Label.Malicious = false
	innocent.Call.Found = in.harmless
	innocent.Call.Found.Incomplete = f.Call.Found.Incomplete
	otherwise := by.decide(&innocent, in.request.reading.forms)
	return slices.ContainsFunc(d.Matched, func(m policy.Match) bool {
		return m.Effect == d.Effect && !slices.ContainsFunc(otherwise.Matched, func(o policy.Match) bool { return o.Rule == m.Rule })
	})
}

// suspected is the label of the answer to a call that does not go out because of signs of an attack.
var suspected = label.Label{Malicious: true}

// suspicion returns the _meta that tells a host of signs of an attack: of SEP-1913 maliciousActivityHint, and nothing
// of the findings. It is empty if hosts are told nothing of labels.
func (w *annotator) suspicion() string {
	result, err := w.words.ToHosts.WriteResult([]byte(`{}`), suspected)
	if err != nil {
		return ""
	}
	said, _ := rawjson.Get(result, "_meta")
	return string(said)
}

// withVerdict returns the _meta of the answer to a refused call.
func (r Refusal) withVerdict() json.RawMessage {
	verdict := must(json.Marshal(r))
	if r.suspicion == "" {
		return must(json.Marshal(map[string]json.RawMessage{MetaVerdict: verdict}))
	}
	return must(rawjson.Set([]byte(r.suspicion), verdict, MetaVerdict))
}
