package kubernetes

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
)

// CheckSelector tells what is wrong with a selector of labels, as kubectl -l takes it.
func CheckSelector(selector string) error {
	if _, err := labels.Parse(selector); err != nil {
		return fmt.Errorf("%q is no selector of labels: %w", selector, err)
	}
	return nil
}

// Selects reports whether a selector means what has these labels; one that is wrong means
// nothing.
func Selects(selector string, has map[string]string) bool {
	parsed, err := labels.Parse(selector)
	return err == nil && parsed.Matches(labels.Set(has))
}
