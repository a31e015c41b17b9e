package application

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"assay/application/wire"
)

// ledger takes transactions as they end: it adds them up and writes them to a file, an object a line. It
// keeps none, so that it can go on for as long as there is room on the disk.
type ledger struct {
	mu     sync.Mutex
	tally  tally
	failed func(error)

	// file is nil where none is wanted. queue is what is to be written, and written is closed at the end.
	file    *os.File
	queue   chan *wire.Transaction
	written chan struct{}
	// came and kept count the transactions, and err is why the file does not have all of them. They may be
	// read once written is closed.
	came, kept int
	err        error
}

const (
	// mostQueued bounds the transactions that wait for the file. Then the application waits, too.
	mostQueued = 1000
	mostBatch  = 64 << 10
	// writePause saves a write for each transaction.
	writePause = 5 * time.Millisecond
)

// openLedger begins one, with a file at path unless that is empty. failed has assay's first failure.
func openLedger(path string, failed func(error)) (*ledger, error) {
	l := &ledger{failed: failed}
	if path == "" {
		return l, nil
	}
	var err error
	if l.file, err = os.Create(path); err != nil {
		return nil, err
	}
	l.queue, l.written = make(chan *wire.Transaction, mostQueued), make(chan struct{})
	go l.write()
	return l, nil
}

// Ended implements wire.Sink.
func (l *ledger) Ended(t *wire.Transaction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally.add(t)
}

// Settled implements wire.Sink.
func (l *ledger) Settled(t *wire.Transaction) {
	if l.file != nil {
		l.queue <- t
	}
}

// Failed implements wire.Sink.
func (l *ledger) Failed(err error) {
	if l.failed != nil {
		l.failed(err)
	}
}

// write writes what is queued, as much at once as has come in a moment.
func (l *ledger) write() {
	defer close(l.written)
	var batch bytes.Buffer
	to := json.NewEncoder(&batch)
	lines, size := 0, int64(0)
	for t := range l.queue {
		l.came++
		if l.err != nil {
			continue
		}
		if l.err = to.Encode(t); l.err != nil {
			continue
		}
		if lines++; len(l.queue) > 0 && batch.Len() < mostBatch {
			continue
		}
		if _, l.err = l.file.Write(batch.Bytes()); l.err != nil {
			_ = l.file.Truncate(size) // else the last line is a part of one
			continue
		}
		l.kept, size, lines = l.kept+lines, size+int64(batch.Len()), 0
		batch.Reset()
		if len(l.queue) == 0 { // else a full queue holds the application up
			time.Sleep(writePause)
		}
	}
}

// Close ends the file, behind the last transaction. Its error says how many are not there.
func (l *ledger) Close() error {
	if l.file == nil {
		return nil
	}
	close(l.queue)
	<-l.written
	if err := errors.Join(l.err, l.file.Close()); err != nil {
		return fmt.Errorf("%s has %d of %d transactions: %w", l.file.Name(), l.kept, l.came, err)
	}
	return nil
}
