package manual

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Run executes the examples of a page in the directory dir, with the environment env, and returns every difference from
// the page. It does nothing for a page without examples.
func Run(ctx context.Context, page, dir string, env []string) error {
	page, err := withFreePorts(page)
	if err != nil {
		return err
	}
	blocks, err := Blocks(page)
	if err != nil {
		return err
	}
	mark := "end-of-command-" + rand.Text()
	script, all, err := compose(blocks, mark)
	if err != nil {
		return err
	}
	output, err := execute(ctx, script, dir, env)
	if err != nil {
		return err
	}
	ends, err := results(output, mark)
	if err != nil {
		return err
	}
	if len(ends) != len(all) {
		return fmt.Errorf("%d of %d commands ended; the script printed:\n%s", len(ends), len(all), output)
	}
	var problems []error
	for i, c := range all {
		problems = append(problems, c.check(ends[i].output, ends[i].status))
	}
	return errors.Join(problems...)
}

var address = regexp.MustCompile(`\b127\.0\.0\.1:[1-9]\d*\b`)

// withFreePorts replaces each address of this machine by one on which nothing listens, the same everywhere in the page.
func withFreePorts(page string) (string, error) {
	free := map[string]string{}
	for _, shown := range address.FindAllString(page, -1) {
		if free[shown] != "" {
			continue
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		defer l.Close() // after the loop, so that no port is given twice
		free[shown] = l.Addr().String()
	}
	return address.ReplaceAllStringFunc(page, func(shown string) string { return free[shown] }), nil
}

// compose returns the script that writes the files of the blocks and runs their commands, and prints a mark with the
// exit status after each command.
func compose(blocks []Block, mark string) (string, []command, error) {
	var b strings.Builder
	b.WriteString("exec 2>&1\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n")
	var all []command
	for _, block := range blocks {
		switch {
		case block.Title != "":
			if !filepath.IsLocal(block.Title) {
				return "", nil, fmt.Errorf("line %d: the file %q is outside of the directory of the page", block.Line, block.Title)
			}
			fmt.Fprintf(&b, "mkdir -p '%s'\ncat >'%s' <<'%s'\n%s%s\n", path.Dir(block.Title), block.Title, mark, block.Text, mark)
		case block.Language == "console":
			list, err := commands(block)
			if err != nil {
				return "", nil, err
			}
			for _, c := range list {
				fmt.Fprintf(&b, "{ %s\n}\nprintf '\\n%%s %%d\\n' '%s' $?\n", c.text, mark)
			}
			all = append(all, list...)
		}
	}
	return b.String(), all, nil
}

// execute runs the script and returns its output. The output goes to a file, so that a process which a page starts in
// the background holds nothing up.
func execute(ctx context.Context, script, dir string, env []string) (string, error) {
	out, err := os.CreateTemp("", "manual-")
	if err != nil {
		return "", err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = out, out
	failed := cmd.Run()
	output, err := os.ReadFile(out.Name())
	if err != nil {
		return "", err
	}
	var exit *exec.ExitError
	if failed != nil && !errors.As(failed, &exit) {
		return "", failed
	}
	return string(output), nil // the mark of each command has its exit status
}
