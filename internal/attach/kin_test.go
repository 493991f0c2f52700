//go:build linux

package attach

import (
	"context"
	"encoding/json"
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

func TestMain(m *testing.M) {
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
	copied := filepath.Join(t.TempDir(), "copy")
	program, err := os.ReadFile(exe)
	if err == nil {
		err = os.WriteFile(copied, program, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
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
