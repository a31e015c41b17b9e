package catalog

import "testing"

// TestEveryCheckIsAboutSomething: each check names the subject of its findings, for the vendor's
// promises.
func TestEveryCheckIsAboutSomething(t *testing.T) {
	for _, w := range Workloads() {
		for _, c := range w.Checks {
			if c.Tests == "" && len(c.Kinds) == 0 {
				t.Errorf("%s: check %s tests no property and names no kind of finding", w.Name, c.Name)
			}
		}
	}
}
