package detect_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/detect"
)

var (
	benign      = flag.String("benign", "", "folders of honest files to measure false positives on, with commas between")
	attacksFrom = flag.String("attacks", "", "JSON Lines of attacks to measure recall on, with commas between: texts, or objects with the member text")
	showFound   = flag.Bool("found", false, "name the honest files with findings, and the attacks without")
)

// largestFile is how much of a file is searched, as of a result.
const largestFile = 8 << 20

// A row is a row of the tables of docs/detection.md.
type row struct{ texts, high, medium, untrusted, malicious int }

// count notes a text, and returns the worst finding in it of medium or high confidence.
func (r *row) count(s *detect.Scanner, tools *detect.Tools, text []byte) (worst *detect.Finding) {
	var high, medium, untrusted, malicious bool
	for _, f := range s.ScanNamed(text, detect.Plain, nil, tools.In("")).Findings {
		if f.Confidence == detect.Low {
			continue
		}
		if worst == nil || f.Confidence > worst.Confidence {
			worst = &f
		}
		switch {
		case f.Class == detect.Injection:
			untrusted, malicious = true, malicious || f.Level() == detect.Malicious
		case f.Confidence == detect.High:
			high = true
		case f.Class != detect.Personal: // of which one person raises no label
			medium = true
		}
	}
	r.texts++
	for n, is := range map[*int]bool{&r.high: high, &r.medium: medium, &r.untrusted: untrusted, &r.malicious: malicious} {
		if is {
			*n++
		}
	}
	return worst
}

// namedTools are tools as the honest texts of testdata name them.
func namedTools() *detect.Tools {
	var all []detect.Tool
	for _, name := range []string{"create_issue", "list_files", "delete_file", "compile_all", "clean_cache"} {
		all = append(all, detect.Tool{Name: name, Acts: true, Vouched: true})
	}
	return detect.NewTools(all)
}

// kindOf returns the kind of a file in the table; "" if it is no text.
func kindOf(path string, text []byte) string {
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return ""
	}
	source := []string{".go", ".py", ".js", ".mjs", ".cjs", ".ts", ".c", ".h", ".pl", ".pm", ".rs", ".java", ".rb", ".sh", ".css", ".s"}
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case strings.HasPrefix(strings.ToLower(filepath.Base(path)), "readme"):
		return "READMEs"
	case slices.Contains(source, ext):
		return "source"
	case slices.Contains([]string{".md", ".txt", ".rst", ".adoc", ".html", ""}, ext):
		return "documentation"
	}
	return "other"
}

// walk counts the files of a folder by kind.
func walk(t *testing.T, s *detect.Scanner, folder string, found func(kind, path string, worst *detect.Finding)) map[string]*row {
	rows := map[string]*row{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() > largestFile {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		kind := kindOf(path, text)
		if kind == "" {
			return nil
		}
		if rows[kind] == nil {
			rows[kind] = &row{}
		}
		if worst := rows[kind].count(s, namedTools(), text); worst != nil {
			found(kind, path, worst)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// print writes rows as the table of docs/detection.md has them.
func (r *row) print(name string) {
	share := func(n int) string { return fmt.Sprintf("%d (%.2f %%)", n, 100*float64(n)/float64(max(r.texts, 1))) }
	fmt.Printf("| %s | %d | %s | %s | %s | %s |\n", name, r.texts, share(r.high), share(r.medium), share(r.untrusted), share(r.malicious))
}

// mistaken are the honest files of testdata in which something is found, and its confidence.
var mistaken = map[string]detect.Confidence{
	"README.en.md": detect.High,   // instructions to read and variables to ignore, in one line
	"build.log":    detect.Medium, // results that are ignored, and the name of a tool that the reader should run
}

// TestHonestFiles holds that no more is found in the honest files of testdata, and with -benign measures other folders.
func TestHonestFiles(t *testing.T) {
	s, wrong := detect.New(), map[string]detect.Confidence{}
	rows := walk(t, s, "testdata/benign", func(_, path string, worst *detect.Finding) {
		wrong[filepath.Base(path)] = worst.Confidence
	})
	if diff := cmp.Diff(mistaken, wrong); diff != "" {
		t.Errorf("false positives (-known +found):\n%s", diff)
	}
	if rows["READMEs"] == nil || rows["READMEs"].texts < 9 {
		t.Errorf("testdata has %+v", rows["READMEs"])
	}
	if *benign == "" {
		return
	}
	fmt.Println("| honest files | number | value, high confidence | value, medium | instructions, `untrusted` or more | `malicious` |\n| --- | --- | --- | --- | --- | --- |")
	for _, folder := range strings.Split(*benign, ",") {
		rows := walk(t, s, folder, func(_, path string, worst *detect.Finding) {
			if *showFound {
				fmt.Printf("%s: %s, %s confidence, bytes %d to %d\n", path, worst.Kind, worst.Confidence, worst.Offset, worst.Offset+worst.Size)
			}
		})
		for _, kind := range []string{"source", "documentation", "READMEs", "other"} {
			if r := rows[kind]; r != nil {
				r.print(kind + " in " + folder)
			}
		}
	}
}

// TestAttackFiles measures recall on the files of -attacks.
func TestAttackFiles(t *testing.T) {
	if *attacksFrom == "" {
		t.Skip("there are no files: -attacks names them")
	}
	s := detect.New()
	fmt.Println("| attacks | number | value, high confidence | value, medium | instructions, `untrusted` or more | `malicious` |\n| --- | --- | --- | --- | --- | --- |")
	for _, path := range strings.Split(*attacksFrom, ",") {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var r row
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, largestFile)
		for lines.Scan() {
			var text string
			var object struct{ Text string }
			if json.Unmarshal(lines.Bytes(), &text) != nil {
				if err := json.Unmarshal(lines.Bytes(), &object); err != nil {
					t.Fatalf("%s: line %d: %v", path, r.texts+1, err)
				}
				text = object.Text
			}
			if r.count(s, nil, []byte(text)) == nil && *showFound {
				fmt.Printf("%s:%d: nothing found\n", path, r.texts)
			}
		}
		if lines.Err() != nil {
			t.Fatal(lines.Err())
		}
		r.print(filepath.Base(path))
	}
}
