// Package detect looks for secrets and for dangerous text in the input of models. A [Scanner] finds secrets, card
// numbers, bank accounts, and instructions to the model that reads a text, hidden or not:
//
//	scanner := detect.New()
//	report := scanner.Scan(result, detect.JSON, salt)
//	for _, f := range report.Findings {
//		fmt.Println(f.Kind, f.Confidence, f.Path, f.Digest)
//	}
//
// The scanner of [Definitions] finds more of these in text that should only describe: any character that people do not
// see, phrases of published attacks on descriptions of tools, and places where secrets are kept.
//
// A detector misses a value that no rule describes, so nothing here lowers anything, and no decision rests on it alone.
// Work is linear in the text, memory and the number of findings are bounded, nothing panics, and no finding holds a
// secret.
package detect
