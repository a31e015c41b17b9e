package runner

import (
	"sync"
	"time"

	"assay/measure"
)

// inTurn keeps Progress's promise of being called from one goroutine at a time:
// the load, its faults and the cluster all have something to say.
type inTurn struct {
	mu       sync.Mutex
	progress Progress
}

// Stage implements Progress.
func (p *inTurn) Stage(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress.Stage(text)
}

// Rows implements Progress.
func (p *inTurn) Rows(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress.Rows(done, total)
}

// Working implements Progress.
func (p *inTurn) Working(elapsed time.Duration, measuring bool, now measure.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress.Working(elapsed, measuring, now)
}

// Note implements Progress.
func (p *inTurn) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress.Note(text)
}
