package cli

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/report"
)

// maxDetected is the size of the largest input of weir detect, in bytes.
const maxDetected = 64 << 20

// detectFlags are the flags of weir detect.
type detectFlags struct {
	form   choice
	format choice
	json   bool
	least  choice
	failOn choice
	redact bool
	strip  bool
	rules  []string
}

func newDetect(env *home.Env) *cobra.Command {
	flags := detectFlags{
		form:   choice{"auto", []string{"auto", "text", "json", "lines"}},
		format: choice{"text", []string{"text", "json", "sarif"}},
		least:  choice{"medium", []string{"high", "medium", "low"}},
		failOn: choice{"high", []string{"high", "medium", "low", "never"}},
	}
	cmd := &cobra.Command{
		Use:   "detect FILE…|-",
		Short: "Find secrets, card numbers, bank accounts and instructions to agents in files",
		Long: `Look for secrets, card numbers, bank accounts and instructions to agents in files or, for -, in
standard input, as Weir does in the results of tools: also under the escapes of JSON, HTML and URLs, under base64 and hexadecimal, and between
characters that do not show. No secret is printed: a finding names its kind, its place and a digest with a salt
of this run, by which equal values are told.

The input is text, JSON, or JSON Lines (--form lines); --form auto takes an input for JSON if it is one JSON document.
The exit status is 1 if a finding is as certain as --fail-on.

--rules adds rules of a TOML file in the form that secret scanners share: id, description, regex (RE2), secretGroup,
entropy, keywords, path and allowlists. They search the text as it stands. weir detect test checks such a file.

--redact prints the one input with a placeholder such as [redacted:github-token] in the place of each value that is
as certain as --confidence, and --strip without the characters that do not show. All other bytes stay, and JSON keeps
its shape: a number that is a value becomes 0. Input that cannot be read whole is not printed, and the exit status
is 1.`,
		Example: `  weir detect notes.txt
  weir detect --format sarif result.json > findings.sarif
  kubectl get secret app -o json | weir detect -
  weir detect --redact --confidence low server.log > shared.log
  weir detect rules`,
		Args: needsArg("a FILE, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			if flags.redact || flags.strip {
				return redactIn(env, &flags, args)
			}
			return detectIn(env, &flags, args)
		},
	}
	addChoice(cmd, &flags.form, "form", "how the input is written")
	addChoice(cmd, &flags.format, "format", "how to write the findings")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print the findings as JSON, as --format json does")
	addChoice(cmd, &flags.least, "confidence", "the least confidence that is shown")
	addChoice(cmd, &flags.failOn, "fail-on", "the least confidence that fails")
	cmd.Flags().BoolVar(&flags.redact, "redact", false, "print the input with a placeholder in the place of each value")
	cmd.Flags().BoolVar(&flags.strip, "strip", false, "print the input without the characters that do not show")
	cmd.Flags().StringArrayVar(&flags.rules, "rules", nil, "a TOML `FILE` of further rules (may be given several times)")
	cmd.AddCommand(newDetectRules(env), newDetectTest(env), newDetectAccept(env), newDetectExceptions(env))
	return cmd
}

func newDetectRules(env *home.Env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "rules",
		Short:   "Print the rules of weir detect",
		Long:    `Print the table of rules: the kind of each finding, its class, how certain it is, and the page that documents the format.`,
		Example: "  weir detect rules\n  weir detect rules --json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return writeJSON(env.Stdout, ruleTable())
			}
			w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
			for _, r := range ruleTable() {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Kind, r.Class, r.Confidence, r.Name, r.Source)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the rules as JSON")
	return cmd
}

// A ruleLine is a rule as weir detect rules prints it.
type ruleLine struct {
	Kind       detect.Kind  `json:"kind"`
	Class      detect.Class `json:"class"`
	Confidence string       `json:"confidence"`
	Name       string       `json:"name"`
	Source     string       `json:"source"`
	Pattern    string       `json:"pattern,omitempty"`
	Names      []string     `json:"names,omitempty"`
	Checked    bool         `json:"checked"`
}

func ruleTable() (lines []ruleLine) {
	for _, r := range detect.Rules() {
		confidence := r.Confidence.String()
		if r.Found() {
			confidence = "varies"
		}
		lines = append(lines, ruleLine{r.Kind, r.Class, confidence, r.Name, r.Source, r.Pattern, r.Names, r.Check != nil})
	}
	return lines
}

// detectIn looks at the inputs and writes the findings.
func detectIn(env *home.Env, flags *detectFlags, paths []string) error {
	salt := []byte(rand.Text())
	scanner := detect.New()
	found := report.Findings{Tool: "detect", Version: home.Version()}
	for _, r := range detect.Rules() {
		found.Rules = append(found.Rules, report.Rule{ID: string(r.Kind), Summary: r.Name, Severity: severityOf(r.Confidence)})
	}
	own, err := loadRules(flags.rules)
	if err != nil {
		return err
	}
	for _, r := range own {
		found.Rules = append(found.Rules, report.Rule{ID: r.ID, Summary: r.Description, Severity: report.Error})
	}
	for _, path := range paths {
		src, err := readDetected(env, path)
		if err != nil {
			return remedy.Usage(fmt.Errorf("reading %s: %w", path, err), "")
		}
		for _, part := range partsOf(src, path, flags.form.value) {
			result := scanner.Scan(part.text, part.form, salt)
			if result.Cut {
				fmt.Fprintf(env.Stderr, "weir: warning: %s: reading it was cut off: it is built to take long, or holds more than 64 findings\n", path)
			}
			for _, f := range append(result.Findings, own.Scan(part.text, path, salt)...) {
				if f.Confidence >= confidenceOf(flags.least.value) {
					found.All = append(found.All, finding(path, part, f))
				}
			}
		}
	}
	found.Sort()
	format := report.Format(flags.format.value)
	if flags.json {
		format = report.JSON
	}
	if err := report.Write(env.Stdout, format, found); err != nil {
		return err
	}
	if worst, any := found.Worst(); any && flags.failOn.value != "never" && worst <= severityOf(confidenceOf(flags.failOn.value)) {
		return remedy.Silent(remedy.Failed) // said above
	}
	return nil
}

// readDetected reads a file, or standard input.
func readDetected(env *home.Env, path string) ([]byte, error) {
	r := env.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, errors.New("it is a directory: name the files in it")
		}
		r = f
	}
	src, err := io.ReadAll(io.LimitReader(r, maxDetected+1))
	if err == nil && len(src) > maxDetected {
		err = fmt.Errorf("it is larger than %d bytes", maxDetected)
	}
	return src, err
}

// A detected is a part of an input that is read by itself.
type detected struct {
	text []byte
	form detect.Form
	line int // of the first byte, from 1
}

// partsOf returns the parts of an input: all of it, or each line of JSON Lines.
func partsOf(src []byte, path, form string) (parts []detected) {
	switch {
	case form == "lines", form == "auto" && (strings.HasSuffix(path, ".jsonl") || strings.HasSuffix(path, ".ndjson")):
		line := 1
		for text := range bytes.Lines(src) {
			parts = append(parts, detected{text, formOf(text), line})
			line++
		}
		return parts
	case form == "json":
		return []detected{{src, detect.JSON, 1}}
	case form == "text":
		return []detected{{src, detect.Plain, 1}}
	}
	return []detected{{src, formOf(src), 1}}
}

// formOf returns the form of a text: JSON only if it is one document of it.
func formOf(text []byte) detect.Form {
	if kind := rawjson.Kind(text); (kind == '{' || kind == '[') && rawjson.Check(text) == nil {
		return detect.JSON
	}
	return detect.Plain
}

// finding returns a finding as reports have it.
func finding(path string, part detected, f detect.Finding) report.Finding {
	out := report.Finding{
		Rule: string(f.Kind), Severity: severityOf(f.Confidence), Message: f.Why, File: path,
		Line: part.line + bytes.Count(part.text[:f.Offset], []byte{'\n'}),
	}
	if path == "-" {
		out.File = "stdin"
	}
	where := fmt.Sprintf("bytes %d to %d", f.Offset, f.Offset+f.Size)
	if f.Path != "" {
		where = "member " + f.Path + ", " + where
	}
	for _, layer := range f.Layers {
		where += ", under " + string(layer)
	}
	if f.Class == detect.Injection {
		out.Details = []string{where, "level " + string(f.Level()) + ", class " + string(f.Class)}
		return out
	}
	out.Details = []string{where, f.Confidence.String() + " confidence, class " + string(f.Class), "digest " + f.Digest}
	return out
}

// severityOf returns how much a finding matters.
func severityOf(c detect.Confidence) report.Severity {
	switch c {
	case detect.High:
		return report.Error
	case detect.Medium:
		return report.Warning
	default:
		return report.Note
	}
}

func confidenceOf(word string) detect.Confidence {
	for _, c := range []detect.Confidence{detect.High, detect.Medium} {
		if c.String() == word {
			return c
		}
	}
	return detect.Low
}
