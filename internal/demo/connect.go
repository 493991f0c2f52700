package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-mcp/weir/internal/demo/servers"
)

// A Connect opens a way from the agent to the servers of a world.
type Connect func(ctx context.Context, w *World) (*Way, error)

// A Way is how an agent reaches the servers.
type Way struct {
	Transports []mcp.Transport // not connected yet; the agent connects each and closes its own connections
	Close      func() error    // closes everything else that was opened; called after the agent is gone; nil is nothing to do
	Log        func() string   // the end of the standard error of the processes; nil is nothing
}

// Direct connects the agent to each server itself, as a process, with nothing in between.
func Direct() Connect {
	return func(ctx context.Context, w *World) (*Way, error) {
		log := new(tail)
		way := &Way{Log: log.String}
		for _, name := range servers.Names() {
			way.Transports = append(way.Transports, spawn(ctx, w.Server(name), log))
		}
		return way, nil
	}
}

// Command connects the agent to a gateway that speaks over the standard input and output of a command, a process for
// each world. In its arguments {config} stands for the path of the world's weir.yaml.
//
//	demo.Command("weir", "run", "--config", "{config}")
func Command(argv ...string) Connect {
	return func(ctx context.Context, w *World) (*Way, error) {
		log := new(tail)
		command := replaced(argv, "{config}", w.Config())
		return &Way{Transports: []mcp.Transport{spawn(ctx, command, log)}, Log: log.String}, nil
	}
}

// HTTP connects the agent to a gateway over streamable HTTP. Start is called once for each world, whose gateway it
// starts or finds; it returns the URL of the endpoint, and a function that ends the processes that it started, or nil.
func HTTP(start func(ctx context.Context, w *World) (url string, stop func() error, err error)) Connect {
	return func(ctx context.Context, w *World) (*Way, error) {
		url, stop, err := start(ctx, w)
		if err != nil {
			return nil, err
		}
		return &Way{Transports: []mcp.Transport{&mcp.StreamableClientTransport{Endpoint: url}}, Close: stop}, nil
	}
}

// HTTPCommand connects the agent over streamable HTTP to a gateway that a command serves, a process for each world. In
// its arguments {config} stands for the path of the world's weir.yaml and {address} for the loopback address, such as
// 127.0.0.1:40123, on which it must listen. Path is that of the endpoint, such as /mcp.
func HTTPCommand(path string, argv ...string) Connect {
	return func(ctx context.Context, w *World) (*Way, error) {
		log := new(tail)
		way, err := HTTP(func(ctx context.Context, w *World) (string, func() error, error) {
			address, err := freeAddress()
			if err != nil {
				return "", nil, err
			}
			command := replaced(replaced(argv, "{config}", w.Config()), "{address}", address)
			stop, err := startListener(ctx, command, address, log)
			return "http://" + address + path, stop, err
		})(ctx, w)
		if err != nil {
			return nil, err
		}
		way.Log = log.String
		return way, nil
	}
}

// spawn returns the transport of a process that is not started yet.
func spawn(ctx context.Context, argv []string, log *tail) mcp.Transport {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stderr = log
	return &mcp.CommandTransport{Command: cmd}
}

// startListener starts a command and waits until something accepts connections on the address.
func startListener(ctx context.Context, argv []string, address string, log *tail) (stop func() error, err error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stderr = log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	stop = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		select {
		case <-gone: // how a command ends that was told to is its own business
			return nil
		case <-time.After(cmd.WaitDelay):
			return errors.Join(fmt.Errorf("%s does not end", argv[0]), cmd.Process.Kill())
		}
	}
	for range 500 {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return stop, conn.Close()
		}
		select {
		case err := <-gone:
			return nil, fmt.Errorf("%s ended before it listened: %v\n%s", argv[0], err, log)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), stop())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil, errors.Join(fmt.Errorf("%s does not listen on %s", argv[0], address), stop())
}

// freeAddress returns a loopback address on which nothing listened a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func replaced(argv []string, old, with string) []string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = strings.ReplaceAll(a, old, with)
	}
	return out
}

// tail keeps the end of the text that is written to it. It may be written to from several goroutines.
type tail struct {
	mu   sync.Mutex
	data []byte
}

const tailSize = 4096 // bytes

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if extra := len(t.data) - tailSize; extra > 0 {
		t.data = append(t.data[:0], t.data[extra:]...)
	}
	return len(p), nil
}

// String returns the kept text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.data))
}
