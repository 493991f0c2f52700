package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "bench: error:", err)
	return 1
}

// A usage is the resources that a process has used so far.
type usage struct {
	Peak    int64 `json:"peak"`    // bytes of memory that were resident at most; 0 if the system does not say
	Mallocs int64 `json:"mallocs"` // allocations
	Bytes   int64 `json:"bytes"`   // allocated
}

// observe answers how the process is until nobody asks any more.
func observe() {
	syscall.CloseOnExec(askFD)
	syscall.CloseOnExec(answerFD)
	ask, answer := os.NewFile(askFD, "ask"), os.NewFile(answerFD, "answer")
	one := make([]byte, 1)
	for {
		if _, err := io.ReadFull(ask, one); err != nil {
			return
		}
		if err := json.NewEncoder(answer).Encode(ownUsage()); err != nil {
			return
		}
	}
}

func ownUsage() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{Peak: peak(), Mallocs: int64(m.Mallocs), Bytes: int64(m.TotalAlloc)}
}

// peak reads the high-water mark of the process's resident memory (proc_pid_status(5), VmHWM).
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// startProfile begins a CPU profile; stop ends it and leaves one of all allocations beside it.
func startProfile(prefix string) (stop func(), err error) {
	if prefix == "" {
		return func() {}, nil
	}
	runtime.MemProfileRate = 4 << 10 // a call allocates little beside a start
	cpu, err := os.Create(prefix + ".cpu.pprof")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = cpu.Close()
		if f, err := os.Create(prefix + ".allocs.pprof"); err == nil {
			_ = pprof.Lookup("allocs").WriteTo(f, 0)
			_ = f.Close()
		}
	}, nil
}

// weirEnviron returns the environment of a weir with these arguments, which keeps its state and the anchor of its log
// beside its store: all go when the measurement ends.
func weirEnviron(args []string) []string {
	environ := os.Environ()
	if i := slices.Index(args, "--store"); i >= 0 && i+1 < len(args) {
		dir := filepath.Dir(args[i+1])
		environ = append(environ, "XDG_DATA_HOME="+dir, "XDG_STATE_HOME="+dir)
	}
	return environ
}
