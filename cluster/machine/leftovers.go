package machine

import (
	"errors"
	"fmt"
	"slices"
)

// Leftovers returns the sorted ids of sets whose namespaces, interfaces or cgroups
// exist: sets in use, by whatever process, and sets that a killed process left. A name
// without the form of our names is passed over.
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
