package server

import (
	"fmt"
	"strings"
)

// Adjusted returns an error if the log of a started server says that it changed one of these
// settings (name=value). Servers of MySQL's family log that as a warning and go on.
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
