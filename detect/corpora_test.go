package detect_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
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
	carried     = flag.String("carried", "", "write files with generated keys of every kind to this folder, for other detectors to read")
	showFound   = flag.Bool("found", false, "name the honest files with findings, and the attacks without")
)

// largestFile is how much of a file is searched, as of a result.
const largestFile = 8 << 20

// A row is a row of the tables of docs/detection.md.
type row struct{ texts, high, medium, untrusted, malicious int }

// count notes a text, and returns the worst finding in it of medium or high confidence.
func (r *row) count(s *detect.Scanner, tools *detect.Tools, text []byte) (worst *detect.Finding) {
	var high, medium, untrusted, malicious bool
	form := detect.Plain
	if json.Valid(text) {
		form = detect.JSON
	}
	for _, f := range s.ScanNamed(text, form, nil, tools.In("")).Findings {
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
	case strings.Contains(path, "/man/"):
		return "manual pages"
	case ext == ".json":
		return "JSON"
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
		for _, kind := range []string{"source", "documentation", "READMEs", "manual pages", "JSON", "other"} {
			if r := rows[kind]; r != nil {
				r.print(kind + " in " + folder)
			}
		}
	}
}

// carriers are files in which keys stand, by their endings; "%s" is the key.
func carriers() map[string]string {
	return map[string]string{
		"env":  "# settings of the service\nPORT=8080\nLOG_LEVEL=info\nSERVICE_VALUE=%s\nTIMEOUT=30\n",
		"yaml": "service:\n  name: billing\n  replicas: 3\n  value: \"%s\"\n  image: registry.acme.io/billing:1.4\n",
		"go":   "package main\n\n// configured returns the settings.\nfunc configured() settings {\n\treturn settings{Value: \"%s\", Retries: 3}\n}\n",
		"md":   "# Setting up\n\nRun the program with the value that you were sent:\n\n    start --value %s --verbose\n\nThen open the page.\n",
		"json": "{\"rows\":[{\"id\":17,\"value\":\"%s\",\"open\":true},{\"id\":18,\"value\":null,\"open\":false}]}\n",
		"log":  "2026-03-01T10:00:00Z INFO request id=8127 path=/v1/items status=200 value=%s took=12ms\n2026-03-01T10:00:01Z INFO idle\n",
	}
}

// TestCarriedKeys measures recall and precision on generated keys in files that carry them, and holds both to 95 %.
func TestCarriedKeys(t *testing.T) {
	const each = 2 // of each kind, in each carrier
	s, missed := detect.New(), map[detect.Kind]int{}
	keys, found, all, right := 0, 0, 0, 0
	for _, rule := range detect.Rules() {
		if rule.Class != detect.Credentials || rule.Confidence == detect.Low && !rule.Found() || rule.Kind == "assigned-secret" {
			continue
		}
		for ending, carrier := range carriers() {
			for i := range each {
				value := valid(rand.New(rand.NewPCG(uint64(i), 7)), rule)
				at := strings.Index(carrier, "%s")
				if (ending == "json" || ending == "go") && strings.ContainsAny(value, "\"\n\\") {
					value = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`).Replace(value)
				}
				text := carrier[:at] + value + carrier[at+2:]
				if *carried != "" {
					if err := os.WriteFile(filepath.Join(*carried, fmt.Sprintf("%s-%d.%s", rule.Kind, i, ending)), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				keys++
				hit := false
				for _, f := range s.Scan([]byte(text), detect.Plain, nil).Findings {
					if f.Class != detect.Credentials || f.Confidence == detect.Low {
						continue
					}
					all++
					if f.Offset < at+len(value) && at < f.Offset+f.Size {
						right, hit = right+1, true
					}
				}
				if hit {
					found++
				} else {
					missed[rule.Kind]++
				}
			}
		}
	}
	t.Logf("%d of %d keys found (%.1f %%), %d of %d findings are keys (%.1f %%); missed %v",
		found, keys, 100*float64(found)/float64(keys), right, all, 100*float64(right)/float64(all), missed)
	if 100*found < 95*keys || 100*right < 95*all {
		t.Error("recall or precision is below 95 %")
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
