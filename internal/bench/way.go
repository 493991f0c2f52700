package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// exitWait is how long a process may take to end before it is killed.
const exitWait = 5 * time.Second

// A way is a running server, the program before it if there is one, and a client.
type way struct {
	name      string
	tool      string   // that is called
	server    []string // further arguments of a server on stdio
	client    client
	callers   []caller
	processes []*process // the first is the one that the client speaks to
}

// openWay starts the processes of a way and shakes hands. Files go to dir; profiles, if any, begin with profile.
func openWay(ctx context.Context, name string, c cell, dir, profile string) (*way, error) {
	w := &way{name: name, tool: c.Tool}
	open := w.openLines
	switch {
	case name == disk:
		open = w.openDisk
	case c.Transport == streaming:
		open = w.openHTTP
	}
	err := open(ctx, dir, profile)
	if err == nil {
		err = w.client.connect()
	}
	if err != nil {
		w.close()
		return nil, fmt.Errorf("starting %s over %s: %w", name, c.name(), err)
	}
	return w, nil
}

// grow makes sure that there are so many callers.
func (w *way) grow(n int) error {
	for len(w.callers) < n {
		c, err := w.client.caller()
		if err != nil {
			return err
		}
		w.callers = append(w.callers, c)
	}
	return nil
}

// usage asks the process that the client speaks to.
func (w *way) usage() (usage, error) {
	if len(w.processes) == 0 {
		return usage{}, nil
	}
	return w.processes[0].usage()
}

// close ends the processes, the host's side first.
func (w *way) close() {
	if w.client != nil {
		_ = w.client.Close()
	}
	for _, p := range w.processes {
		p.end()
	}
}

func (w *way) openLines(ctx context.Context, dir, profile string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	server := append([]string{self, roleArgument, "", roleServer}, w.server...)
	args := server[1:]
	switch w.name {
	case relay:
		args = append([]string{roleArgument, profile, roleRelay}, server...)
	case weirOff, weirOn:
		args = []string{roleArgument, profile, roleWeir, "wrap", "--log-level", "error"}
		args = append(append(args, weirFlags(w.name, dir)...), "--trust", "known", "--name", "bench", "--")
		args = append(args, server...)
	}
	p, err := w.start(ctx, false, args)
	if err != nil {
		return err
	}
	w.client = newLineClient(p.stdin, p.stdout, w.tool)
	return nil
}

// openDisk opens the file of a way without a server.
func (w *way) openDisk(_ context.Context, dir, _ string) error {
	f, err := os.OpenFile(filepath.Join(dir, "disk"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	w.client = &diskClient{file: f, data: make([]byte, eventSize)}
	return err
}

func (w *way) openHTTP(ctx context.Context, dir, profile string) error {
	p, err := w.start(ctx, true, []string{roleArgument, "", roleHTTPServer})
	if err != nil {
		return err
	}
	switch w.name {
	case relay:
		p, err = w.start(ctx, true, []string{roleArgument, profile, roleHTTPRelay, p.url})
	case weirOff, weirOn:
		config := filepath.Join(dir, w.name+".json") // a file of its own: weir reloads a file that is rewritten
		servers := fmt.Appendf(nil, `{"version":1,"servers":{"bench":{"url":%q,"trust":"known"}}}`, p.url)
		if err := os.WriteFile(config, servers, 0o600); err != nil {
			return err
		}
		args := []string{roleArgument, profile, roleWeir, "run", "--config", config, "--listen", "127.0.0.1:0"}
		p, err = w.start(ctx, true, append(args, weirFlags(w.name, dir)...))
	}
	if err != nil {
		return err
	}
	at, err := url.Parse(p.url)
	if err != nil {
		return err
	}
	w.client = &httpClient{at: at, tool: w.tool}
	return nil
}

// weirFlags are the flags in which the two ways through Weir differ.
func weirFlags(name, dir string) []string {
	if name == weirOff {
		return []string{"--mode", "audit", "--record", "none", "--store", "memory", "--pins", "none"}
	}
	return []string{"--store", filepath.Join(dir, "state", "state.db")} // not beside the configuration, which is watched
}

// A process plays a role.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	url    string // where it listens
	ask    *os.File
	answer *bufio.Reader
}

// start starts a role. One that listens says where before anything else of interest on standard error.
func (w *way) start(ctx context.Context, listens bool, args []string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	asked, ask, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer asked.Close()
	answer, answered, err := os.Pipe()
	if err != nil {
		_ = ask.Close()
		return nil, err
	}
	defer answered.Close()
	p := &process{cmd: exec.CommandContext(ctx, self, args...), ask: ask, answer: bufio.NewReader(answer)}
	p.cmd.ExtraFiles = []*os.File{asked, answered} // askFD and answerFD
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	var stderr io.Reader
	if listens {
		stderr, err = p.cmd.StderrPipe()
	} else {
		p.cmd.Stderr = os.Stderr
		p.stdout, err = p.cmd.StdoutPipe()
	}
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	w.processes = append([]*process{p}, w.processes...)
	if listens {
		return p, p.findURL(stderr)
	}
	return p, nil
}

// findURL reads where the process listens, and then drains its output.
func (p *process) findURL(stderr io.Reader) error {
	lines := bufio.NewReader(stderr)
	var said strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("waiting for an address: %w: %s", err, &said)
		}
		said.WriteString(line)
		if _, at, ok := strings.Cut(line, "url="); ok {
			p.url, _, _ = strings.Cut(strings.TrimSpace(at), " ")
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return nil
		}
	}
}

func (p *process) usage() (usage, error) {
	if _, err := p.ask.Write([]byte{'\n'}); err != nil {
		return usage{}, err
	}
	line, err := p.answer.ReadBytes('\n')
	if err != nil {
		return usage{}, err
	}
	var u usage
	err = json.Unmarshal(line, &u)
	return u, err
}

// end has the process end, by the end of its input or by SIGTERM, and waits for that.
func (p *process) end() {
	_ = p.stdin.Close()
	_ = p.ask.Close()
	if p.url != "" {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	kill := time.AfterFunc(exitWait, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	_ = p.cmd.Wait()
}
