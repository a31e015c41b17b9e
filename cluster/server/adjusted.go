package server

import (
	"fmt"
	"strings"
)

// Adjusted is an error if a server of MySQL's family that has started took another value than one of these
// settings (name=value): it logs that as a warning and goes on.
func (n *Node) Adjusted(settings []string) error {
	for line := range strings.Lines(n.Tail(400)) {
		if !strings.Contains(line, "adjusted to") && !strings.Contains(line, "wasn't recognized") && !strings.Contains(line, "ignoring option") {
			continue
		}
		for _, setting := range settings {
			name, _, _ := strings.Cut(setting, "=")
			name = strings.ReplaceAll(name, "-", "_") + "'"
			if plain := strings.ReplaceAll(line, "-", "_"); strings.Contains(plain, "'"+name) || strings.Contains(plain, "'__"+name) {
				return fmt.Errorf("%s does not take %s:\n%s", n.Name, setting, strings.TrimSpace(line))
			}
		}
	}
	return nil
}
