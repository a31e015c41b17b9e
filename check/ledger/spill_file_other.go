//go:build !linux

package ledger

import "errors"

// spillFile exists only on Linux: elsewhere everything is kept in memory.
type spillFile struct{}

func newSpillFile(string) (*spillFile, error) { return nil, errors.ErrUnsupported }

func (*spillFile) grow(int) ([]byte, error) { return nil, errors.ErrUnsupported }

func (*spillFile) close() error { return nil }
