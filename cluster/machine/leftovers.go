package machine

import (
	"errors"
	"fmt"
	"slices"
)

// Leftovers returns the ids, sorted, of which namespaces, interfaces or cgroups
// exist: those of sets in use, by whatever process, and those that a killed one
// left. What does not have the form of our names is not looked at further.
func Leftovers() ([]string, error) {
	found := map[string]bool{}
	err := leftovers(found)
	var ids []string
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, err
}

// Remove takes away all that exists of an id, and nothing else. It must not be
// called for a set in use. Processes must be gone; while some are left in a
// cgroup the error names them.
func Remove(id string) error {
	if !idForm().MatchString(id) {
		return fmt.Errorf("remove machines: the id %q is not eight hexadecimal digits in lower case", id)
	}
	if err := errors.Join(removeNetwork(id), removeGroups(id)); err != nil {
		return fmt.Errorf("remove machines of %s: %w", id, err)
	}
	return nil
}
