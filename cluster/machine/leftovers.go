package machine

import (
	"errors"
	"fmt"
	"slices"
)

// Leftovers returns the sorted ids of all sets of which namespaces, interfaces or cgroups exist, in
// use or left by a killed process. It ignores names that are not of our form.
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

// Remove takes away all that exists of an id, which must not be in use. Its processes must be gone;
// if some are left in a cgroup the error names them.
func Remove(id string) error {
	if !idForm().MatchString(id) {
		return fmt.Errorf("remove machines: the id %q is not eight hexadecimal digits in lower case", id)
	}
	if err := errors.Join(removeNetwork(id), removeGroups(id)); err != nil {
		return fmt.Errorf("remove machines of %s: %w", id, err)
	}
	return nil
}
