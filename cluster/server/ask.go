package server

import (
	"context"
	"errors"
	"sync"
	"time"
)

// AskAll asks all running nodes at once. Results go by their places in the list.
func AskAll[A any](nodes []*Node, ask func(i int) (A, error)) (answers map[int]A, failures map[int]error) {
	answers, failures = make(map[int]A), make(map[int]error)
	var asking sync.WaitGroup
	var mu sync.Mutex
	for i, node := range nodes {
		if !node.Running() {
			continue
		}
		asking.Go(func() {
			answer, err := ask(i)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failures[i] = err
				return
			}
			answers[i] = answer
		})
	}
	asking.Wait()
	return answers, failures
}

// ErrLate is the failure of a node that had not answered when AskMost returned.
var ErrLate = errors.New("it had not answered when the others had said enough")

// Once the answers are enough, AskMost waits for the rest for lateLeast and lateTimes the time that
// it took so far, which is more on a busy machine.
const (
	lateLeast = 100 * time.Millisecond
	lateTimes = 4
)

// AskMost is AskAll, but does not wait long for nodes that are silent, as cut-off ones are, once the
// answers of others are enough. It cancels the questions that are left, and returns at once when ctx
// ends.
func AskMost[A any](ctx context.Context, nodes []*Node, ask func(ctx context.Context, i int) (A, error),
	enough func(answers map[int]A, failures map[int]error) bool) (answers map[int]A, failures map[int]error) {
	type told struct {
		i      int
		answer A
		err    error
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	came := make(chan told, len(nodes)) // so that no late one waits
	answers, failures = make(map[int]A), make(map[int]error)
	began := time.Now()
	for i, node := range nodes {
		if !node.Running() {
			continue
		}
		failures[i] = ErrLate
		go func() {
			answer, err := ask(asking, i)
			came <- told{i, answer, err}
		}()
	}
	var over <-chan time.Time // nil until it is enough
	for left := len(failures); left > 0; left-- {
		select {
		case t := <-came:
			if failures[t.i] = t.err; t.err == nil {
				answers[t.i] = t.answer
				delete(failures, t.i)
			}
		case <-over:
			return answers, failures
		case <-ctx.Done():
			return answers, failures
		}
		if over == nil && enough(answers, failures) {
			late := lateLeast + lateTimes*time.Since(began)
			if end, has := ctx.Deadline(); has { // the caller may have to ask more
				late = min(late, time.Until(end)/4)
			}
			over = time.After(late)
		}
	}
	return answers, failures
}
