package kubernetes

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
)

// CheckSelector returns an error for a malformed selector of labels, as for kubectl -l.
func CheckSelector(selector string) error {
	if _, err := labels.Parse(selector); err != nil {
		return fmt.Errorf("%q is no selector of labels: %w", selector, err)
	}
	return nil
}

// Selects reports whether a selector matches these labels. A malformed selector matches nothing.
func Selects(selector string, has map[string]string) bool {
	parsed, err := labels.Parse(selector)
	return err == nil && parsed.Matches(labels.Set(has))
}
