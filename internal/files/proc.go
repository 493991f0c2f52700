package files

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// Names below /proc by which every process finds the same, or that hold nothing but figures of one process. All others
// count as names of any file: links there lead each process, and each thread, elsewhere, and more may come.
var (
	procFiles = pattern.Words(`buddyinfo cgroups cmdline consoles cpuinfo crypto devices diskstats filesystems interrupts iomem ioports
		kallsyms kmsg loadavg
		locks mdstat meminfo misc modules mounts net pagetypeinfo partitions pressure schedstat slabinfo softirqs stat swaps sys sysvipc timer_list
		tty uptime version version_signature vmallocinfo vmstat zoneinfo`)
	processFiles = pattern.Words(`auxv cgroup children clear_refs cmdline comm coredump_filter cpu_resctrl_groups cpuset environ fd fdinfo io
		latency limits
		loginuid maps mountinfo mounts mountstats net numa_maps oom_adj oom_score oom_score_adj pagemap personality sched schedstat sessionid smaps
		smaps_rollup stack stat statm status syscall task timers timerslack_ns wchan`)
	harmless    = pattern.Words("stat status statm cmdline comm cgroup io loadavg") // of a process of Weir, too
	folderFiles = pattern.Words("net sys sysvipc tty pressure fdinfo")              // with all that is below
)

// proc ends a walk in the file system of processes, where Weir, as another process, sees other files than the server.
func (w *walk) proc(dir string) {
	names := slices.DeleteFunc(slices.Clone(w.rest), func(n string) bool { return n == "" || n == "." })
	w.at = dir
	if len(names) == 0 || names[0] == ".." {
		return
	}
	w.at, w.rest = filepath.Join(append([]string{dir}, names...)...), nil
	if isProcess(names[0]) {
		w.process, w.unsure = names[0], true
		w.blind = !isFigure(names[1:]) || isPattern(names[0]) && len(names) > 1 && !harmless()[names[1]]
	} else {
		w.blind = !procFiles()[names[0]] || len(names) > 1 && !folderFiles()[names[0]] || slices.Contains(names, "..")
	}
}

// descriptors ends a walk at the open files of a process, which are in /dev/fd too: only the standard ones are no
// surprise.
func (w *walk) descriptors() {
	names := append([]string{"fd"}, slices.DeleteFunc(w.rest, func(n string) bool { return n == "." })...)
	w.at, w.rest, w.unsure, w.blind = filepath.Join(append([]string{w.at}, names...)...), nil, true, !isFigure(names)
}

// isProcess reports whether a name below /proc is that of a process, in a command perhaps by a variable or a pattern.
func isProcess(name string) bool {
	return name == "self" || name == "thread-self" || strings.Trim(name, "0123456789") == "" || isPattern(name)
}

// isPattern reports whether a name in a command may stand for any process, and so for one of Weir's.
func isPattern(name string) bool { return strings.ContainsAny(name, "$*?[{%`") }

// isFigure reports whether names below the folder of a process lead to nothing but figures about it, or to one of its
// standard streams.
func isFigure(names []string) bool {
	if len(names) > 1 && names[0] == "task" {
		names = names[2:]
	}
	switch {
	case len(names) == 0:
		return true
	case slices.Contains(names, ".."):
		return false
	case len(names) == 2 && names[0] == "fd":
		return slices.Contains([]string{"0", "1", "2"}, names[1])
	}
	return processFiles()[names[0]] && (len(names) == 1 || folderFiles()[names[0]])
}
