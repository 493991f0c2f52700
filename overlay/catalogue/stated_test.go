package catalogue_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/weir-mcp/weir/overlay/catalogue"
)

// The statements of an entry, as they stand in its file: an overlay shows a contract only together with its conditions.
type (
	stated struct {
		Contract  said        `yaml:"contract"`
		When      []condition `yaml:"when"`
		Arguments struct {
			Destination []string `yaml:"destination"`
			Content     []string `yaml:"content"`
		} `yaml:"arguments"`
		Resource struct {
			Reads   []string `yaml:"reads"`
			Folders []string `yaml:"folders"`
			Writes  []string `yaml:"writes"`
		} `yaml:"resource"`
	}
	said      map[string]any
	condition struct {
		If       string `yaml:"if"`
		Contract said   `yaml:"contract"`
	}
	sections struct {
		Tools     map[string]stated `yaml:"tools"`
		Resources map[string]stated `yaml:"resources"`
		Prompts   map[string]stated `yaml:"prompts"`
	}
)

// reviewed returns the tools in a list of them, as "entry tool": of each line the reason, below it the tools it is true of.
func reviewed(t *testing.T, file string) map[string]bool {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, entry := map[string]bool{}, ""
	for line := range strings.Lines(string(src)) {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			for _, name := range strings.Fields(line) {
				all[entry+" "+name] = true
			}
		default:
			var why string
			if entry, why, _ = strings.Cut(line, ":"); strings.TrimSpace(why) == "" {
				t.Errorf("%s has no reason", entry)
			}
		}
	}
	return all
}

// list returns the values of a set.
func (s said) list(name string) (values []string) {
	all, _ := s[name].([]any)
	for _, v := range all {
		if text, ok := v.(string); ok {
			values = append(values, text)
		}
	}
	return values
}

func (s said) has(name, value string) bool { return slices.Contains(s.list(name), value) }

// may reports whether a hint may hold for some arguments.
func (s stated) may(hint string, value bool) bool {
	may := s.Contract[hint] == value
	for _, w := range s.When {
		may = may || w.Contract[hint] == value
	}
	return may
}

// read returns the statements of every file, by the entry's name.
func read(t *testing.T) map[string]sections {
	t.Helper()
	names, err := catalogue.Names()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]sections{}
	for _, name := range names {
		src, err := os.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Overlays []sections `yaml:"overlays"`
		}
		if err := yaml.Unmarshal(src, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = file.Overlays[0]
	}
	return all
}

// A server is the listing of one: the arguments of its tools by their paths, with their types by a letter (s text, n
// number, b boolean, e a choice among the server's words, l list, o object, a any), and its prompts and resources.
type server struct {
	tools     map[string]map[string]string
	prompts   []string
	resources []string
}

// servers returns the servers in testdata/arguments, by entry. Each file names the package and version that it was
// listed by.
func servers(t *testing.T) map[string]server {
	t.Helper()
	files, err := filepath.Glob("testdata/arguments/*.txt")
	if err != nil || len(files) < 50 {
		t.Fatal("too few files:", len(files), err)
	}
	all := map[string]server{}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := server{tools: map[string]map[string]string{}}
		for line := range strings.Lines(string(src)) {
			words := strings.Fields(line)
			switch words[0] {
			case "#":
			case "#prompts":
				s.prompts = append(s.prompts, words[1])
			case "#resources", "#resourceTemplates":
				s.resources = append(s.resources, words[1])
			default:
				s.tools[words[0]] = arguments(words[1:])
			}
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = s
	}
	return all
}

func arguments(words []string) map[string]string {
	types := map[string]string{}
	for _, w := range words {
		i := strings.LastIndexByte(w, ':')
		types[w[:i]] = w[i+1:]
	}
	return types
}

var namePart = regexp.MustCompile(`[A-Z]+(?:[^a-z]|$)|[A-Z]?[a-z]+`)

// lastWord returns the last word of the name of an argument, in lower case and in the singular, and how many words it has.
func lastWord(path string) (string, int) {
	path = strings.ReplaceAll(path, "[*]", "")
	leaf := path[strings.LastIndexByte(path, '.')+1:]
	parts := namePart.FindAllString(leaf, -1)
	if len(parts) == 0 {
		return "", 0
	}
	w := strings.ToLower(parts[len(parts)-1])
	switch {
	case strings.HasSuffix(w, "ies"):
		w = strings.TrimSuffix(w, "ies") + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"):
		w = strings.TrimSuffix(w, "es")
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && w != "alias" && w != "status":
		w = strings.TrimSuffix(w, "s")
	}
	return w, len(parts)
}

// covers reports whether one of the paths of roles leads to the argument, or to a value that contains it.
func covers(roles []string, argument string) bool {
	argument = strings.ReplaceAll(argument, "[*]", "")
	return slices.ContainsFunc(roles, func(role string) bool {
		role = strings.ReplaceAll(role, "[*]", "")
		return argument == role || strings.HasPrefix(argument, role+".")
	})
}
