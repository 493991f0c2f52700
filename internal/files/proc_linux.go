package files

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// isProc reports whether a path is in a file system of processes, wherever that is mounted.
func isProc(path string) bool {
	const magic = 0x9fa0 // PROC_SUPER_MAGIC
	var s syscall.Statfs_t
	return syscall.Statfs(path, &s) == nil && s.Type == magic
}

// leader returns the process of which a number is that of a thread; the number itself if there is none.
func leader(pid int) int {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(line, "Tgid:"); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(id)); err == nil {
				return n
			}
		}
	}
	return pid
}

// runsWeir reports whether a process or a thread runs the program that this process runs, or one called weir.
func runsWeir(pid int) bool {
	exe := "/proc/" + strconv.Itoa(pid) + "/exe"
	is, err := look(exe, true)
	if own, failed := look("/proc/self/exe", true); err == nil && failed == nil && is.same(&own) {
		return true
	}
	to, err := os.Readlink(exe)
	return err == nil && strings.TrimSuffix(filepath.Base(to), " (deleted)") == "weir"
}

// groupOf returns the group of a process; 0 if it has none.
func groupOf(pid int) int {
	group, err := syscall.Getpgid(pid)
	if err != nil {
		return 0
	}
	return group
}
