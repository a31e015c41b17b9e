//go:build !linux

package image

import (
	"context"
	"runtime"
)

// Disk exists on Linux only.
type Disk struct{}

// Check always returns an error.
func Check(context.Context, string) error {
	return unsupported("only Linux can stop a file system in one instant, and this is %s", runtime.GOOS)
}

// Open always returns an error.
func Open(ctx context.Context, _, name string) (*Disk, error) { return nil, Check(ctx, name) }

func (*Disk) Folder() string                          { return "" }
func (*Disk) Sync() error                             { return nil }
func (*Disk) Cut() error                              { return nil }
func (*Disk) Refuses() error                          { return nil }
func (*Disk) Restore(context.Context) (string, error) { return "", nil }
func (*Disk) Remove() error                           { return nil }
