package history

import (
	"fmt"
	"sync"
	"time"
)

const (
	// flushAt wakes the writer before a frame grows large.
	flushAt = 256 << 10
	// fullAt makes recording wait until the file has caught up.
	fullAt = 1 << 20
	// gather is how long records are collected for one write; a killed process loses as much.
	gather     = 2 * time.Millisecond
	maxClasses = 4096
	// manyClasses stands for all classes beyond maxClasses.
	manyClasses = "other error"
)

// Writer writes a history during the run. It is safe for concurrent use. After a failed write
// every call returns its *WriteError.
type Writer struct {
	fileMu sync.Mutex // held while a frame is written; taken before mu
	file   *FrameWriter
	spare  []byte

	mu      sync.Mutex
	room    *sync.Cond
	enc     encoder
	classes map[string]uint64
	ops     uint64
	err     error

	wake chan struct{}
	done chan struct{}
	quit chan struct{}
	once sync.Once
}

// Create creates the file, which must not exist, and writes its header.
func Create(path string, header Header) (*Writer, error) {
	file, err := CreateFrames(path, magic)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		file: file, classes: map[string]uint64{},
		wake: make(chan struct{}, 1), done: make(chan struct{}), quit: make(chan struct{}),
	}
	w.room = sync.NewCond(&w.mu)
	if err := w.enc.document(tagHeader, header); err != nil {
		return nil, fmt.Errorf("history: header: %w", err)
	}
	go w.run()
	if err := w.Flush(); err != nil {
		_ = w.Close() // the same error again
		return nil, err
	}
	return w, nil
}

// Record writes one attempt, and waits if the file cannot keep up. It does not keep op.
func (w *Writer) Record(op *Op) error {
	if len(op.Values) > MaxValues || !op.Outcome.Valid() || !op.Final.Valid() {
		return fmt.Errorf("history: op %d of client %d cannot be recorded: %d values, outcome %v, final %v",
			op.Seq, op.Client, len(op.Values), op.Outcome, op.Final)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.enc.buf) >= fullAt && w.err == nil {
		w.room.Wait()
	}
	if w.err != nil {
		return w.err
	}
	w.enc.op(op, w.classOf(op.Error))
	w.ops++
	if len(w.enc.buf) >= flushAt {
		w.signal()
	}
	return nil
}

// classOf returns a class's number and writes it at its first use. The caller holds w.mu.
func (w *Writer) classOf(name string) uint64 {
	if name == "" {
		return 0
	}
	if id, known := w.classes[name]; known {
		return id
	}
	if len(w.classes) >= maxClasses && name != manyClasses {
		return w.classOf(manyClasses)
	}
	id := uint64(len(w.classes) + 1)
	w.classes[name] = id
	w.enc.class(id, name)
	return id
}

// Reserve writes r; it is in the file when Reserve returns.
func (w *Writer) Reserve(r Reservation) error {
	w.mu.Lock()
	w.enc.reservation(r)
	w.mu.Unlock()
	return w.Flush()
}

// Mark writes an event; it is in the file when Mark returns.
func (w *Writer) Mark(e Event) error {
	w.mu.Lock()
	err := w.enc.document(tagEvent, e)
	w.mu.Unlock()
	if err != nil {
		return fmt.Errorf("history: event %s: %w", e.Name, err)
	}
	return w.Flush()
}

// Flush hands all records to the operating system. They then survive the end of this process,
// but not of the machine.
func (w *Writer) Flush() error {
	w.fileMu.Lock()
	defer w.fileMu.Unlock()
	w.mu.Lock()
	if w.err != nil {
		defer w.mu.Unlock()
		return w.err
	}
	full := w.enc.buf
	w.enc.reset(w.spare)
	w.mu.Unlock()
	var err error
	if len(full) > 0 {
		err = w.file.WriteFrame(full)
	}
	w.spare = full
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.err = err
	}
	w.room.Broadcast()
	return w.err
}

func (w *Writer) run() {
	defer close(w.done)
	tick := time.NewTicker(gather)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.wake:
		case <-w.quit:
			return
		}
		if w.Flush() != nil {
			return // the error is kept and returned to whoever records next
		}
	}
}

func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close writes the end record, which tells a whole history from a cut one, and closes the file.
// A second call does nothing and returns nil.
func (w *Writer) Close() error { return w.close(true) }

// CloseCut closes the file without the end record, for a history that is not whole.
func (w *Writer) CloseCut() error { return w.close(false) }

func (w *Writer) close(whole bool) error {
	var err error
	w.once.Do(func() {
		if whole {
			w.mu.Lock()
			w.enc.end(w.ops)
			w.mu.Unlock()
		}
		err = w.Flush()
		close(w.quit)
		<-w.done
		if closeErr := w.file.Close(); err == nil {
			err = closeErr
		}
	})
	return err
}
