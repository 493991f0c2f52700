//go:build linux

package attach

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/owner"
)

// peerOf names the directory of the owner that a process of TestOthers connects to.
const peerOf = "ATTACH_PEER_OF"

// squatAt names the socket at which the process of TestStranger listens.
const squatAt = "ATTACH_SQUAT_AT"

func TestMain(m *testing.M) {
	if path := os.Getenv(squatAt); path != "" {
		squat(path)
	}
	dir := os.Getenv(peerOf)
	if dir == "" {
		os.Exit(m.Run())
	}
	c := owner.Client{Dir: dir, Start: func() (<-chan struct{}, error) { return nil, io.EOF }}
	conn, err := c.Attach(context.Background(), json.RawMessage(`{}`))
	if err != nil {
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, conn) // until the owner has looked
}

// squat answers one client as an owner does, and writes out all that it sends.
func squat(path string) {
	_ = os.Remove(path) // of an owner that has ended
	l, err := net.Listen("unix", path)
	if err != nil {
		os.Exit(1)
	}
	conn, err := l.Accept()
	if err != nil {
		os.Exit(1)
	}
	hello := fmt.Appendf(nil, `{"v":%d,"build":"0001-01-01T00:00:00Z"}`, owner.Version)
	_, _ = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(hello))), hello...))
	_, _ = io.Copy(os.Stdout, conn) // until the client leaves
	os.Exit(0)
}

// TestStranger has another program listen where the owner of wraps should, at first or once an owner has ended: a wrap
// sends it nothing, and goes on alone, or ends.
func TestStranger(t *testing.T) {
	for _, owners := range []int{0, 1} {
		t.Run(fmt.Sprint(owners), func(t *testing.T) { stranger(t, owners) })
	}
}

// stranger has another program listen after so many owners have ended.
func stranger(t *testing.T, owners int) {
	dir, err := os.MkdirTemp("", "a") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(copyOf(t))
	cmd.Env = []string{squatAt + "=" + filepath.Join(dir, "socket")}
	var got strings.Builder
	cmd.Stdout = &got
	starts, ended := 0, make(chan struct{})
	c := &owner.Client{Dir: dir, Start: func() (<-chan struct{}, error) {
		if starts++; starts > owners {
			if owners > 0 {
				<-ended
			}
			return make(chan struct{}), cmd.Start()
		}
		go func() {
			defer close(ended)
			if err := endingOwner(t.Context(), dir); err != nil {
				t.Error(err)
			}
		}()
		return ended, nil
	}}
	w, _, shut := wrapOf(t, cat)
	defer shut()
	_, err = Run(t.Context(), c, json.RawMessage(`{"environ":["TOKEN=secret"]}`), w)
	if errors.Is(err, ErrAlone) != (owners == 0) || !errors.Is(err, owner.ErrRefused) || !strings.Contains(err.Error(), "another program") {
		t.Errorf("the wrap ends with %v", err)
	}
	if err := cmd.Wait(); err != nil || got.Len() > 0 {
		t.Errorf("the other program got %q, %v", got.String(), err)
	}
}

// endingOwner is an owner that ends when a wrap has begun.
func endingOwner(ctx context.Context, dir string) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	return owner.Serve(ctx, owner.Options{Dir: dir, Attached: func(ctx context.Context, conn *net.UnixConn, _ json.RawMessage) {
		defer end()
		g, err := Accept(conn)
		if err != nil {
			return
		}
		defer g.Close()
		_ = g.Serve(ctx, func(context.Context) int {
			end()
			_ = conn.Close()
			return 0
		})
	}})
}

// copyOf returns a copy of this program.
func copyOf(t *testing.T) (path string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "copy")
	program, err := os.ReadFile(exe)
	if err == nil {
		err = os.WriteFile(path, program, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOthers has processes connect that are no child of the host, another program, or confined in another way: the owner
// serves none of them. One that is none of that it does serve.
func TestOthers(t *testing.T) {
	key, err := Key(time.Time{}, os.Getpid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := copyOf(t)
	looked := make(chan error)
	c := owned(t, func(_ context.Context, conn *net.UnixConn) { looked <- Check(conn, time.Time{}, key, nil) })
	first, err := c.Attach(t.Context(), json.RawMessage(`{}`)) // starts it
	if err != nil {
		t.Fatal(err)
	}
	if <-looked == nil {
		t.Error("the host itself is taken for its child")
	}
	_ = first.Close()
	for _, o := range []struct {
		name string
		args []string
		attr *syscall.SysProcAttr
		want string
	}{
		{"a child", []string{exe}, nil, ""},
		{"a grandchild", []string{"/bin/sh", "-c", `"$0"; exit $?`, exe}, nil, "another parent"},
		{"a copy of the program", []string{copied}, nil, "another program"},
		{"in a namespace of its own", []string{exe}, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS}, "confined in another way"},
	} {
		t.Run(o.name, func(t *testing.T) {
			cmd := exec.Command(o.args[0], o.args[1:]...)
			cmd.Env, cmd.SysProcAttr = []string{peerOf + "=" + c.Dir}, o.attr
			if err := cmd.Start(); err != nil {
				if o.attr != nil {
					t.Skip("no namespaces here: ", err)
				}
				t.Fatal(err)
			}
			got := <-looked
			if o.want == "" && got != nil || o.want != "" && (got == nil || !strings.Contains(got.Error(), o.want)) {
				t.Errorf("%v, want %q", got, o.want)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
