package load

import "testing"

// TestPartsOfTasks: the parts of some clients are all tasks, each once, and each part's
// are in their order.
func TestPartsOfTasks(t *testing.T) {
	for _, n := range []uint64{0, 1, 7, 10, 100, 1001} {
		taken := make([]int, n)
		first := 0
		for _, clients := range []int{3, 2, 1, 4} {
			var part Tasks
			part.Only(first, clients, 10)
			before := int64(-1)
			for range PartOf(n, first, clients, 10) {
				task := part.Take()
				if task <= before || task >= int64(n) {
					t.Fatalf("of %d tasks, clients from %d on take %d after %d", n, first, task, before)
				}
				taken[task]++
				before = task
			}
			first += clients
		}
		for task, times := range taken {
			if times != 1 {
				t.Errorf("of %d tasks, %d is taken %d times", n, task, times)
			}
		}
	}
	var all Tasks
	for want := range int64(5) {
		if got := all.Take(); got != want {
			t.Errorf("took %d, want %d", got, want)
		}
	}
}
