package house

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// unwanted are words that mean something is unfinished, and paths that exist on one machine only. They are put
// together from halves so that this file passes its own test.
var unwanted = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b|/work` + `/|\.\./sha` + `red|/tmp` + `/plan`)

// generated are files that tools write: their checksums may spell anything.
var generated = []string{"go.sum", "e2e/node/package-lock.json"}

// TestWords looks for unwanted words in every text file.
func TestWords(t *testing.T) {
	walk(t, func(name string, data []byte) {
		for _, g := range generated {
			if name == g {
				return
			}
		}
		for i, line := range strings.Split(string(data), "\n") {
			if word := unwanted.FindString(line); word != "" {
				t.Errorf("%s:%d: %q has no place in the repository", name, i+1, word)
			}
		}
	})
}

// TestLockfile keeps the pinned packages free of addresses, which differ between machines.
func TestLockfile(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "e2e", "node", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), `"resolved"`) {
		t.Error("e2e/node/package-lock.json names addresses: npm config omit-lockfile-registry-resolved must be true")
	}
}

var (
	inlineLink    = regexp.MustCompile(`\]\(([^)\s]+)(?:\s+"[^"]*")?\)`)
	referenceLink = regexp.MustCompile(`^\[[^\]]+\]:\s+(\S+)`)
	heading       = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	codeSpan      = regexp.MustCompile("`[^`]*`")
)

// TestLinks follows every link of a Markdown document that stays inside the repository, to the heading.
func TestLinks(t *testing.T) {
	documents := map[string][]string{}
	walk(t, func(name string, data []byte) {
		if path.Ext(name) == ".md" {
			documents[name] = prose(string(data))
		}
	})
	for name, lines := range documents {
		for i, line := range lines {
			for _, target := range links(line) {
				if problem := follow(documents, name, target); problem != "" {
					t.Errorf("%s:%d: %s: %s", name, i+1, target, problem)
				}
			}
		}
	}
}

// prose returns a document's lines, those inside code fences emptied.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	fenced := false
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			lines[i] = ""
		} else if fenced {
			lines[i] = ""
		}
	}
	return lines
}

// links lists where a line points.
func links(line string) (targets []string) {
	line = codeSpan.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat("x", len(s)) })
	for _, m := range inlineLink.FindAllStringSubmatch(line, -1) {
		targets = append(targets, m[1])
	}
	if m := referenceLink.FindStringSubmatch(line); m != nil {
		targets = append(targets, m[1])
	}
	return targets
}

// follow returns the problem of a link of the document name, or nothing.
func follow(documents map[string][]string, name, target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	full := name
	if file != "" {
		full = path.Join(path.Dir(name), file)
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(full))); err != nil {
			return "no such file"
		}
	}
	if lines, ok := documents[full]; ok && anchor != "" {
		for _, line := range lines {
			if m := heading.FindStringSubmatch(line); m != nil && slug(m[1]) == anchor {
				return ""
			}
		}
		return "no such heading"
	}
	return ""
}

// slug is the anchor that a heading gets.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteRune('-')
		}
	}
	return b.String()
}
