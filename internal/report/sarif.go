package report

import "strings"

// sarif returns the findings as a SARIF 2.1.0 log.
func sarif(f Findings) any {
	rules := make([]any, len(f.Rules))
	for i, r := range f.Rules {
		rules[i] = map[string]any{
			"id":                   r.ID,
			"shortDescription":     map[string]string{"text": r.Summary},
			"defaultConfiguration": map[string]string{"level": r.Severity.String()},
		}
	}
	results := make([]any, len(f.All))
	for i, one := range f.All {
		results[i] = result(one)
	}
	return map[string]any{
		"$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		"version": "2.1.0",
		"runs": []any{map[string]any{
			"tool": map[string]any{"driver": map[string]any{
				"name": "weir " + f.Tool, "version": f.Version, "informationUri": "https://github.com/weir-mcp/weir", "rules": rules,
			}},
			"results": results,
		}},
	}
}

func result(one Finding) any {
	text := strings.Join(append([]string{one.Message}, one.Details...), "; ")
	if one.Hint != "" {
		text += " (" + one.Hint + ")"
	}
	location := map[string]any{}
	if one.Server != "" || one.Subject != "" {
		location["logicalLocations"] = []any{map[string]string{
			"fullyQualifiedName": one.Server + "/" + one.Subject, "kind": "function",
		}}
	}
	if one.File != "" {
		location["physicalLocation"] = map[string]any{
			"artifactLocation": map[string]string{"uri": one.File},
			"region":           map[string]int{"startLine": max(1, one.Line)},
		}
	}
	return map[string]any{
		"ruleId": one.Rule, "level": one.Severity.String(), "message": map[string]string{"text": text}, "locations": []any{location},
	}
}
