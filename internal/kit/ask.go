package kit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// Ask starts a reader, writes the lines to its standard input, closes that, and returns the answers. If the program
// ends early or ctx ends, the answers are those that came until then.
func Ask(ctx context.Context, p Program, lines []Line) ([]Answer, error) {
	r, err := p.start()
	if err != nil {
		return nil, err
	}
	defer r.close()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = WriteLines(r.stdin, lines) // a reader that does not read has no answers, which is told of each
		_ = r.stdin.Close()
	}()
	defer func() { r.close(); <-written }()
	var all []Answer
	for len(all) < len(lines) {
		line, err := r.next(ctx)
		if errors.Is(err, errEnded) || ctx.Err() != nil {
			break
		}
		a, err := readAnswer(line)
		if err != nil {
			return nil, fmt.Errorf("answer %d: %w", len(all)+1, err)
		}
		all = append(all, a)
	}
	return all, nil
}

// WriteLines writes tasks as lines.
func WriteLines(w io.Writer, lines []Line) error {
	buffered := bufio.NewWriter(w)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// ReadAnswers reads the lines that a reader wrote.
func ReadAnswers(r io.Reader) (all []Answer, err error) {
	err = eachLine(r, func(line []byte) error {
		a, err := readAnswer(line)
		all = append(all, a)
		return err
	})
	return all, err
}

// Reply answers the lines of in as Weir reads, until in ends.
func Reply(in io.Reader, out io.Writer) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return eachLine(in, func(line []byte) error {
		var l Line
		if err := decode(line, &l); err != nil {
			return err
		}
		return enc.Encode(Own(l))
	})
}

func eachLine(r io.Reader, do func(line []byte) error) error {
	all := bufio.NewScanner(r)
	all.Buffer(nil, maxLine)
	for n := 1; all.Scan(); n++ {
		if len(bytes.TrimSpace(all.Bytes())) == 0 {
			continue
		}
		if err := do(all.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return all.Err()
}

func readAnswer(line []byte) (Answer, error) {
	var a Answer
	err := decode(line, &a)
	return a, err
}

// decode reads one line strictly: it has one reading, and no unknown members.
func decode(line []byte, v any) error {
	if err := rawjson.Check(line); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}
