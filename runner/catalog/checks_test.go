package catalog

import "testing"

// TestEveryCheckIsAboutSomething wants each check of each workload to say what its findings
// are about, so that they are placed beside what the vendor promises.
func TestEveryCheckIsAboutSomething(t *testing.T) {
	for _, w := range Workloads() {
		for _, c := range w.Checks {
			if c.Tests == "" && len(c.Kinds) == 0 {
				t.Errorf("%s: check %s tests no property and names no kind of finding", w.Name, c.Name)
			}
		}
	}
}
