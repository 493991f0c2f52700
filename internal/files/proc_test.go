package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/files"
)

// TestProcPaths holds that nothing below /proc passes but figures.
func TestProcPaths(t *testing.T) {
	w := newWorld(t)
	w.link("proj/self", "/proc/self")
	for path, own := range map[string]bool{
		"/proc/cpuinfo": false, "/proc/meminfo": false, "/proc/version": false, "/proc/net/tcp": false, "/proc/sys/kernel/hostname": false,
		"/proc": false, "/proc/": false, "/proc/../etc/hosts": false, "/proc/self/status": false, "/proc/self/task/7/stat": false, "/proc/self": false,
		"/proc/1/cmdline": false, "/proc/self/fd": false, "/dev/stdin": false, "/dev/stderr": false, "/dev/fd/1": false, "/dev/null": false,
		"/proc/kcore": true, "/proc/unheard": true, "/proc/self/unheard": true, "/proc/self/mem": true, "/proc/self/exe": true,
		"/proc/self/rootHOME/other/x.txt": true, "/proc/self/task/7/rootHOME/other/x.txt": true, "/proc/thread-self/root/etc/hosts": true,
		"/proc/1/root/etc/hosts": true, "/proc/1/task/1/cwd/x": true, "/proc/self/cwd/x": true, "/proc/self/cwd": true, "/proc/self/fd/3": true,
		"/proc/self/fd/1/x": true, "/dev/fd/3": true, "/dev/fd/0/../../root/x": true, "/dev/fd/3/../1": true,
		"/dev/fd/3/../../status": true, "/dev/fd/3/..": true, "/dev/fd/./1": false, "/proc/self/task/../root/x": true, "/proc/net/../root/x": true,
		"/proc/*/root/etc/hosts": true, "/proc/$$/cwd/x": true, "/proc//.//self//./root/etc/hosts": true, "HOME/proj/self/root/etc/hosts": true,
	} {
		path := w.filled(path)
		got := w.ground.Own(guard.Touch{Server: "fs", Name: "read_file", Texts: []guard.Text{{Path: "path", Text: path}}})
		if (got != "") != own {
			t.Errorf("%q: %q, want own: %v", path, got, own)
		}
		if p := w.ground.Locate("fs", path); own && (len(p.Names) > 0 || !p.Unsure) {
			t.Errorf("%q leads to %+v", path, p)
		}
	}
}

// TestProcLinks holds that no path goes on beyond a link below /proc: the server may find another file there than this
// process does.
func TestProcLinks(t *testing.T) {
	links, _ := filepath.Glob("/proc/self/*")
	more, _ := filepath.Glob("/proc/self/task/*/*")
	links = append(links, more...)
	w := newWorld(t)
	for _, link := range links {
		if to, err := os.Readlink(link); err != nil || strings.HasPrefix(to, "pipe:") {
			continue
		}
		for _, path := range []string{link, link + "/x", link + w.tree + "/weir.yaml"} {
			if w.ground.Own(guard.Touch{Server: "fs", Name: "read_file", Texts: []guard.Text{{Path: "path", Text: path}}}) == "" {
				t.Errorf("%s passes", path)
			}
		}
	}
	names := rapid.SampledFrom([]string{"self", "thread-self", "task", "1", "root", "cwd", "fd", "0", "3", ".", "..", "", "status", "exe", "map_files"})
	rapid.Check(t, func(t *rapid.T) {
		path := "/proc/self/" + strings.Join(rapid.SliceOfN(names, 0, 5).Draw(t, "names"), "/") + w.tree + "/weir.yaml"
		if w.ground.Own(guard.Touch{Server: "fs", Name: "read_file", Texts: []guard.Text{{Path: "path", Text: path}}}) == "" {
			t.Errorf("%s passes", path)
		}
	})
}

// TestOwnProcesses looks for this process, which runs the program of the processes that are Weir's, by all of its
// numbers.
func TestOwnProcesses(t *testing.T) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip("needs /proc")
	}
	pid := strconv.Itoa(os.Getpid())
	known := newWorld(t).ground
	if group := groupOf(t); group > 1 {
		listed := files.New(files.Options{Processes: []int{os.Getpid()}, Servers: map[string]files.Server{"fs": {}}})
		if !touches(listed, "kill", "pid", strconv.Itoa(-group)) {
			t.Errorf("the group %d", group)
		}
	}
	numbers := []string{pid, pid + ".0", "-" + pid, " " + pid, "+" + pid, fmt.Sprintf("%#x", os.Getpid()), wide(pid)}
	for _, task := range tasks {
		numbers = append(numbers, task.Name())
	}
	for _, n := range numbers {
		if !touches(known, "kill_process", "pid", n) || !touches(known, "run", "command", "kill -9 "+strings.TrimSpace(n)) {
			t.Errorf("%s may be ended", n)
		}
		if touches(known, "wait", "seconds", n) {
			t.Errorf("%s is a time", n)
		}
	}
	for _, task := range tasks {
		for _, path := range []string{"/proc/*/environ", "/proc/[0-9]*/oom_score_adj", "/proc/" + task.Name() + "/environ", "/proc/" + pid + "/task/" + task.Name() + "/environ"} {
			if !touches(known, "read_file", "path", path) {
				t.Errorf("%s may be read", path)
			}
		}
	}
	if parent := strconv.Itoa(os.Getppid()); touches(known, "kill_process", "pid", parent) || touches(known, "read_file", "path", "/proc/"+parent+"/status") {
		t.Errorf("the parent %s is no weir", parent)
	}
}

func touches(g *files.Ground, tool, argument, text string) bool {
	return g.Own(guard.Touch{Server: "fs", Name: tool, Changes: true, Texts: []guard.Text{{Path: argument, Text: text}}}) != ""
}

// wide writes digits as those of East Asian type.
func wide(digits string) string {
	return strings.Map(func(r rune) rune { return r - '0' + '０' }, digits)
}

// groupOf returns the group of this process.
func groupOf(t *testing.T) (group int) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	if _, err := fmt.Sscanf(rest, "%s %d %d", new(string), new(int), &group); err != nil {
		t.Fatal(err)
	}
	return group
}
