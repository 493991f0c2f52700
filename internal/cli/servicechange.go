package cli

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/plain"
	"github.com/weir-mcp/weir/internal/remedy"
	"github.com/weir-mcp/weir/internal/service"
)

// A serviceView is a change of the service as it is shown.
type serviceView struct {
	Path    string   `json:"path"`
	Change  string   `json:"change"` // create, replace, remove, none
	Kept    string   `json:"kept,omitempty"`
	Text    string   `json:"text,omitempty"`
	Steps   []string `json:"steps"`
	Changed bool     `json:"changed"`
}

// A serviceChange is a plan: it is shown, and then made in the order of its members.
type serviceChange struct {
	view     serviceView
	before   []service.Step
	file     func() error // nil: the file stays as it is
	doing    string       // with the file, for errors
	after    []service.Step
	question string // "": there is nothing to do
	done     string // for the user, once the steps are taken
}

// planService returns a plan that changes nothing yet, with whose the file of the service is, and its text.
func planService(job *service.Job) (*serviceChange, service.Standing, string, error) {
	whose, text, err := job.Look()
	if err != nil {
		return nil, whose, "", err
	}
	c := &serviceChange{view: serviceView{Path: job.Path, Change: "none"}, done: "there is no service of weir"}
	switch whose {
	case service.Foreign:
		return nil, whose, "", remedy.Failure(fmt.Errorf("%s: %w", job.Path, service.ErrForeign), "move it away, if it is not needed")
	case service.Changed:
		c.view.Kept = job.Old()
	}
	return c, whose, text, nil
}

// planServiceInstall plans to write the file of a service, which is shown as a text, and to start it.
func planServiceInstall(job *service.Job, shown string) (*serviceChange, error) {
	c, whose, text, err := planService(job)
	if err != nil {
		return nil, err
	}
	c.after, c.question, c.done = job.Start, "Write", "weir runs now, and whenever you log in; its log: "+job.Log
	if whose == service.Ours && text == job.Text {
		return c, nil
	}
	c.view.Text, c.file, c.doing = shown, job.Write, "writing"
	if c.view.Change = "replace"; whose == service.Absent {
		c.view.Change = "create"
	}
	return c, nil
}

// planServiceRemoval plans to stop a service and to remove its file.
func planServiceRemoval(job *service.Job) (*serviceChange, error) {
	c, whose, _, err := planService(job)
	if err != nil || whose == service.Absent {
		return c, err
	}
	c.view.Change, c.file, c.doing, c.question = "remove", job.Remove, "removing", "Remove"
	c.before, c.after, c.done = job.Stop, job.Forget, "weir does not run any more"
	return c, nil
}

// make shows a change, asks, and makes it.
func (c *serviceChange) make(ctx context.Context, env *home.Env, flags *serviceFlags) error {
	if flags.idle {
		c.before, c.after = nil, nil
	}
	v := &c.view
	v.Steps = stepsOf(c.before, c.after)
	if c.question != "" && !flags.consent.json {
		v.print(env)
	}
	if c.question != "" && !flags.consent.dry {
		if err := agree(ctx, env, &flags.consent, c.question+" "+plain.Text(v.Path, maxError)+"?"); err != nil {
			return err
		}
		if err := c.apply(ctx, env); err != nil {
			return err
		}
	}
	switch {
	case flags.consent.json:
		return writeJSON(env.Stdout, v)
	case c.question == "", !flags.consent.dry && !flags.idle:
		fmt.Fprintln(env.Stdout, c.done)
	}
	return nil
}

// apply makes a change that was agreed to.
func (c *serviceChange) apply(ctx context.Context, env *home.Env) error {
	if err := takeSteps(ctx, env, c.before); err != nil {
		return err
	}
	if c.file != nil {
		if err := c.file(); err != nil {
			return fmt.Errorf("%s %s: %w", c.doing, c.view.Path, err)
		}
		c.view.Changed = true
	}
	return takeSteps(ctx, env, c.after)
}

func stepsOf(before, after []service.Step) []string {
	lines := []string{}
	for _, s := range slices.Concat(before, after) {
		lines = append(lines, strings.Join(s.Words, " "))
	}
	return lines
}

// print shows a change before it is made.
func (v *serviceView) print(env *home.Env) {
	fmt.Fprintf(env.Stdout, "%s: %s\n", plain.Text(v.Path, maxError), map[string]string{
		"create": "is new", "replace": "is written anew", "remove": "goes", "none": "nothing to change",
	}[v.Change])
	if v.Kept != "" {
		fmt.Fprintf(env.Stdout, "  it was changed since weir wrote it, and is kept as %s\n", plain.Text(v.Kept, maxError))
	}
	for line := range strings.Lines(v.Text) {
		fmt.Fprintf(env.Stdout, "    %s\n", plain.Text(strings.TrimRight(line, "\r\n"), 0)) // whole: it is agreed to
	}
	for _, step := range v.Steps {
		fmt.Fprintf(env.Stdout, "  then: %s\n", plain.Text(step, maxDiffLine))
	}
}

// takeSteps runs commands of the system, until one fails that may not.
func takeSteps(ctx context.Context, env *home.Env, steps []service.Step) error {
	for _, s := range steps {
		out, err := systemCommand(ctx, env, s.Words)
		if err != nil && !s.May {
			return remedy.Failure(fmt.Errorf("%s: %w: %s", strings.Join(s.Words, " "), err, plain.Text(strings.TrimSpace(out), maxError)),
				"the file is as it was shown; run the rest yourself once the system can")
		}
	}
	return nil
}

// stepTime is how long a command of the system may take.
const stepTime = time.Minute

func systemCommand(ctx context.Context, env *home.Env, words []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = env.Environ
	out, err := cmd.CombinedOutput()
	return string(out[:min(len(out), maxStepOutput)]), err
}

const maxStepOutput = 4096
