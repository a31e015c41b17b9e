//go:build !linux

package main

import (
	"errors"
	"os"
)

func moreEndingSignals() []os.Signal { return nil }

// becomeRemover fails: the servers' processes cannot be found once their parent has gone.
func becomeRemover() error { return errors.ErrUnsupported }
