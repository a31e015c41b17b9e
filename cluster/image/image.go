// Package image keeps the files of one node on a file system of their own, ext4 or XFS in
// an image on a loop device, whose power can be cut: what the file system has not written
// to the device is gone, and its journal is replayed when it is mounted again.
//
// It is gentler than a power cut of a machine can be. What has reached the device
// survives even if it was never flushed, and nothing is torn.
//
// It stands beside cluster/disk, which cuts the power of a file system of assay's own,
// since neither does the other's work. This is what servers run on: a file system with its journal
// and the device below it, so that its recovery is a real one and its speed means
// something. It cannot choose what is lost, nor fail on demand.
//
// It must not know any database product.
package image

import (
	"fmt"

	"assay/cluster/machine"
)

// The file systems that an image can hold.
const (
	Ext4 = "ext4"
	XFS  = "xfs"
)

// unsupported is the error of Check.
func unsupported(format string, values ...any) error {
	return &machine.UnsupportedError{What: "a disk whose power can be cut", Reason: fmt.Sprintf(format, values...)}
}
