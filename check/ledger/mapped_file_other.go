//go:build !linux

package ledger

import "errors"

// mappedFile is there on Linux alone: elsewhere all is kept in memory.
type mappedFile struct{}

func newMappedFile(string) (*mappedFile, error) { return nil, errors.ErrUnsupported }

func (*mappedFile) grow(int) ([]byte, error) { return nil, errors.ErrUnsupported }

func (*mappedFile) close() error { return nil }
