package cli

import (
	"errors"
	"fmt"

	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
)

// redactIn prints one input without its values, or without the characters that do not show. It prints all of it or
// nothing.
func redactIn(env *home.Env, flags *detectFlags, paths []string) error {
	if len(paths) != 1 {
		return remedy.Usage(errors.New("--redact and --strip take one input"), "")
	}
	src, err := readDetected(env, paths[0])
	if err != nil {
		return remedy.Usage(fmt.Errorf("reading %s: %w", paths[0], err), "")
	}
	own, err := loadRules(flags.rules)
	if err != nil {
		return err
	}
	hide := func(f detect.Finding) bool {
		return f.Class != detect.Injection && f.Confidence >= confidenceOf(flags.least.value)
	}
	scanner := detect.New()
	var out []byte
	for _, part := range partsOf(src, paths[0], flags.form.value) {
		text, ok := part.text, true
		if flags.strip {
			text = detect.Strip(text, part.form)
		}
		if flags.redact {
			text = detect.Redacted(text, part.form, own.Scan(text, paths[0], nil))
			text, ok = scanner.Redact(text, part.form, hide)
		}
		if !ok {
			return fmt.Errorf("%s is not redacted: line %d and those behind it hold too many values, or are built to take long", paths[0], part.line)
		}
		out = append(out, text...)
	}
	_, err = env.Stdout.Write(out)
	return err
}
