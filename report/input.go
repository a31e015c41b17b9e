package report

import "fmt"

// InputError means that a folder or file to be judged or reported is not one.
type InputError struct {
	Path string
	Err  error
}

func (e *InputError) Error() string { return fmt.Sprintf("%s %v", e.Path, e.Err) }
func (e *InputError) Unwrap() error { return e.Err }
