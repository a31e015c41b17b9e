// Package image keeps the files of one node on a real ext4 or XFS, in an image on a loop device
// whose power can be cut: what the file system has not written to the device is lost, and the next
// mount replays its journal.
//
// It is gentler than a power cut of a machine. What has reached the device survives even if it was
// never flushed, and nothing is torn.
//
// Package cluster/disk is a model of a file system instead. Here the recovery is real and the speed
// means something, but the package cannot choose what is lost, nor fail on demand.
//
// It must not know any database product.
package image

import (
	"fmt"

	"assay/cluster/machine"
)

const (
	Ext4 = "ext4"
	XFS  = "xfs"
)

func unsupported(format string, values ...any) error {
	return &machine.UnsupportedError{What: "a disk whose power can be cut", Reason: fmt.Sprintf(format, values...)}
}
