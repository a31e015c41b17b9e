package server

import "sync"

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
