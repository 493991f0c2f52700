// Package manual runs the examples of documentation pages, so that pages cannot show a command that does not work.
//
// Run executes one page as one shell session, in a directory of its own. Two kinds of fenced blocks are examples:
//
//   - A block "console" is a transcript. A line that begins with "$ " is a command, and the lines up to the next
//     command are its output, standard error included. A line "…" matches any number of lines, and "…" inside a line
//     any text. A command without shown output may print anything. A command has to succeed, unless it ends with a
//     comment such as "# exit status 1".
//   - A block with a title, such as `yaml title="weir.yaml"`, is a file, written when the session comes to it. Static
//     site generators show the title above the block.
//
// Each address 127.0.0.1:PORT of a page is replaced by one with a free port. All other blocks are illustrations; Shown
// lists them, so that a test can refuse illustrations on pages that promise to be tested.
package manual

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Block is one fenced block of a page.
type Block struct {
	Line     int    // of the opening fence, from 1
	Language string // the first word after the fence; may be empty
	Title    string // the name of the file that the block holds; empty if it holds none
	Text     string // its lines, without the fences
}

// IsExample reports whether Run does something with the block.
func (b Block) IsExample() bool { return b.Language == "console" || b.Title != "" }

var title = regexp.MustCompile(`\btitle="([^"]+)"`)

// Blocks returns the fenced blocks of a page. A block that is never closed is an error.
func Blocks(page string) ([]Block, error) {
	var blocks []Block
	var open *Block
	for i, line := range strings.Split(page, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &Block{Line: i + 1}
			if words := strings.Fields(info); len(words) > 0 {
				open.Language = words[0]
			}
			if m := title.FindStringSubmatch(info); m != nil {
				open.Title = m[1]
			}
		case fence:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.Text += line + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the fenced block is not closed", open.Line)
	}
	return blocks, nil
}

// Shown returns the blocks of a page that are no examples.
func Shown(page string) ([]Block, error) {
	blocks, err := Blocks(page)
	var shown []Block
	for _, b := range blocks {
		if !b.IsExample() {
			shown = append(shown, b)
		}
	}
	return shown, err
}

// A command is one command of a transcript.
type command struct {
	line   int // in the page
	text   string
	status int
	want   []string // the lines of output that the page shows
}

var exitStatus = regexp.MustCompile(`\s# exit status (\d+)$`)

// commands returns the commands of a transcript. A command that ends with a backslash goes on with the next line.
func commands(b Block) ([]command, error) {
	var all []command
	goesOn := false
	for i, line := range strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n") {
		text, starts := strings.CutPrefix(line, "$ ")
		switch {
		case goesOn:
			all[len(all)-1].text += "\n" + line
			goesOn = strings.HasSuffix(line, "\\")
		case starts:
			all = append(all, command{line: b.Line + 1 + i, text: text})
			goesOn = strings.HasSuffix(text, "\\")
		case len(all) == 0:
			return nil, fmt.Errorf("line %d: output before the first command", b.Line+1+i)
		default:
			last := &all[len(all)-1]
			last.want = append(last.want, line)
		}
	}
	for i := range all {
		if m := exitStatus.FindStringSubmatch(all[i].text); m != nil {
			all[i].status, _ = strconv.Atoi(m[1])
		}
	}
	return all, nil
}

// check compares the output and the exit status of a command with the page.
func (c command) check(output string, status int) error {
	if status != c.status {
		return fmt.Errorf("line %d: $ %s: exit status %d, want %d; it printed:\n%s", c.line, c.text, status, c.status, output)
	}
	if len(c.want) > 0 && !pattern(c.want).MatchString(trimmed(output)) {
		return fmt.Errorf("line %d: $ %s: the page shows\n%s\nand the command printed\n%s",
			c.line, c.text, strings.Join(c.want, "\n"), output)
	}
	return nil
}

// pattern returns the expression that the shown lines stand for.
func pattern(shown []string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A`)
	for _, line := range shown {
		line = strings.TrimRight(line, " ")
		if line == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(line, "…")
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		b.WriteString(strings.Join(parts, `.*?`) + `\n`)
	}
	return regexp.MustCompile(b.String() + `\z`)
}

// trimmed returns the text without blanks at the ends of lines, and with one line end after the last line.
func trimmed(text string) string {
	lines := strings.Split(strings.TrimRight(text, " \n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \r")
	}
	return strings.Join(lines, "\n") + "\n"
}

// A result is the end of one command as the script reports it.
type result struct {
	output string
	status int
}

// results takes the output of a script apart at the marks.
func results(output, mark string) ([]result, error) {
	pieces := strings.Split(output, "\n"+mark+" ")
	all := make([]result, 0, len(pieces))
	text := pieces[0]
	for _, piece := range pieces[1:] {
		status, rest, ok := strings.Cut(piece, "\n")
		n, err := strconv.Atoi(status)
		if !ok || err != nil {
			return nil, errors.New("the output of the script is cut off")
		}
		all = append(all, result{text, n})
		text = rest
	}
	return all, nil
}
