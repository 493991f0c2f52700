package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
)

// relayLines stands between a host on in and out and a command, as barely as anything that handles messages can: it
// reads a whole line into a buffer that it keeps, and writes it with one call.
func relayLines(command []string, in io.Reader, out io.Writer) error {
	if len(command) == 0 {
		return errors.New("a relay needs a command")
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = copyLines(to, in)
		_ = to.Close()
	}()
	if err := copyLines(out, from); err != nil {
		return err
	}
	return cmd.Wait()
}

// copyLines copies line by line until the end of in.
func copyLines(out io.Writer, in io.Reader) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	var long []byte
	for {
		line, err := lines.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			long = append(long, line...)
			continue
		}
		if len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		if _, werr := out.Write(line); werr != nil {
			return werr
		}
		long = long[:0]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// relayHTTP stands before the URL: it reads a request, sends it on, and copies the response while it comes.
func relayHTTP(ctx context.Context, args []string, say io.Writer) error {
	if len(args) != 1 {
		return errors.New("a relay needs a URL")
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 2 * manyCallers, DisableCompression: true}
	return listen(ctx, say, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		onward, err := http.NewRequestWithContext(r.Context(), r.Method, args[0], bytes.NewReader(body))
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		onward.Header = r.Header
		resp, err := transport.RoundTrip(onward)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
}
