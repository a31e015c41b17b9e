//go:build !linux

package image

import (
	"context"
	"runtime"
)

// Disk is the file system of one node; there is none here.
type Disk struct{}

// Check says that there are none here.
func Check(context.Context, string) error {
	return unsupported("only Linux can stop a file system in one instant, and this is %s", runtime.GOOS)
}

// Open refuses.
func Open(ctx context.Context, _, name string) (*Disk, error) { return nil, Check(ctx, name) }

func (*Disk) Folder() string                          { return "" }
func (*Disk) Sync() error                             { return nil }
func (*Disk) Cut() error                              { return nil }
func (*Disk) Refuses() error                          { return nil }
func (*Disk) Restore(context.Context) (string, error) { return "", nil }
func (*Disk) Remove() error                           { return nil }
