package histories

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"assay/history/exchange"
	"assay/report"
	"assay/store"
)

// StandardInput is the path that means standard input.
const StandardInput = "-"

// openHistory opens a file. The end of ctx ends reads, and the wait for a writer of a named pipe.
func openHistory(ctx context.Context, path string) (io.ReadCloser, error) {
	if path == StandardInput {
		return newCancellable(ctx, os.Stdin, io.NopCloser(nil)), nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(err)
	}
	if info.Mode()&fs.ModeType == 0 {
		file, err := os.Open(path)
		if err != nil {
			return nil, unreadable(err)
		}
		return interruptible{ctx, file}, nil
	}
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		file, err := os.Open(path)
		done <- opened{file, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, unreadable(o.err)
		}
		return newCancellable(ctx, o.file, o.file), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type countedReader struct {
	io.Reader
	done, total int64
	read        func(done, total int64)
}

func counted(source io.Reader, path string, read func(done, total int64)) io.Reader {
	if read == nil {
		return source
	}
	c := &countedReader{Reader: source, read: read}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		c.total = info.Size()
	}
	return c
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.done += int64(n)
	c.read(c.done, c.total)
	return n, err
}

// unreadable describes why a file cannot be opened. The caller adds the path.
func unreadable(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("does not exist")
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("cannot be read: %w", err)
}

func nameOf(path string) string {
	if path == StandardInput {
		return "standard input"
	}
	return path
}

// InterruptedError means that ctx ended before the history was judged.
type InterruptedError struct {
	Path string
	Err  error
}

func (e *InterruptedError) Error() string {
	return "interrupted while reading " + e.Path + ": nothing was judged, and the history is as it was"
}

func (e *InterruptedError) Unwrap() error { return e.Err }

// historyError adds the path to err. If ctx has ended, that is the reason.
func historyError(ctx context.Context, path string, err error) error {
	path = nameOf(path)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return &InterruptedError{Path: path, Err: err}
	default:
		return &report.InputError{Path: path, Err: err}
	}
}

// interruptible is a file whose reads do not block. After ctx has ended they return its error.
type interruptible struct {
	ctx context.Context
	*os.File
}

func (i interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.File.Read(p)
}

// cancellable is a source whose reads end with a context. A read that is blocked then stays behind,
// with its buffer, until the source has data or is closed.
type cancellable struct {
	io.Closer
	ctx    context.Context
	wanted chan struct{} // one for each block that is to be read
	blocks chan block
	now    block
}

type block struct {
	data []byte
	err  error
}

func newCancellable(ctx context.Context, source io.Reader, closer io.Closer) *cancellable {
	c := &cancellable{Closer: closer, ctx: ctx, wanted: make(chan struct{}, 1), blocks: make(chan block, 1)}
	go func() {
		buffer := make([]byte, 256<<10)
		for {
			select {
			case <-c.wanted:
			case <-ctx.Done():
				return
			}
			n, err := source.Read(buffer)
			c.blocks <- block{buffer[:n], err} // has room: one was wanted
			if err != nil {
				return
			}
		}
	}()
	return c
}

func (c *cancellable) Read(p []byte) (int, error) {
	if len(c.now.data) == 0 && c.now.err == nil {
		c.wanted <- struct{}{}
		select {
		case c.now = <-c.blocks:
		case <-c.ctx.Done():
			c.now.err = c.ctx.Err()
		}
	}
	n := copy(p, c.now.data)
	if c.now.data = c.now.data[n:]; n > 0 {
		return n, nil
	}
	return 0, c.now.err
}

// parseAccounts replaces accounts by their names, and ranges by their elements.
func (o *Options) parseAccounts() error {
	const most = 1 << 20
	var names []string
	for _, text := range o.Accounts {
		bad := &store.OptionError{Option: "--accounts", Value: text,
			Want: `accounts as EDN writes them, or ranges, such as 0..7 or 1,2,:savings`}
		if from, to, ok := strings.Cut(text, ".."); ok {
			first, err1 := strconv.ParseInt(from, 10, 64)
			last, err2 := strconv.ParseInt(to, 10, 64)
			if err1 != nil || err2 != nil || first > last || last-first >= most || last-first < 0 {
				return bad
			}
			for id := first; id <= last; id++ {
				names = append(names, exchange.Int64(id).String())
			}
			continue
		}
		account, err := exchange.ParseAtom(text)
		if err != nil {
			return bad
		}
		names = append(names, account.Whole().String())
	}
	o.Accounts = names
	return nil
}
