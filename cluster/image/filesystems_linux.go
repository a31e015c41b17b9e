package image

import (
	"encoding/binary"
	"fmt"
	"os"

	"assay/cluster/server"
)

// filesystem is a kind of file system that an image can hold. Each of them takes ext4's
// request to shut down, which was XFS's first.
type filesystem struct {
	program server.Program // that makes one
	args    []string       // before the image
	options string         // of the mount
	// needsRecovery reads from an image that is not mounted whether its journal is to be
	// replayed before the file system can be used.
	needsRecovery func(*os.File) (bool, error)
}

// filesystemOf is the one of this name, Ext4 or XFS.
func filesystemOf(name string) (filesystem, error) {
	folders := []string{"/usr/sbin", "/sbin"}
	switch name {
	case Ext4:
		return filesystem{
			program: server.Program{Name: "mkfs.ext4", Folders: folders, Get: "install e2fsprogs (apt-get install e2fsprogs)"},
			args: []string{"-q", "-F", "-m", "0", "-i", fmt.Sprint(inodeEvery), "-J", fmt.Sprintf("size=%d", journalSize),
				"-E", "lazy_itable_init=1,lazy_journal_init=1"},
			options: "noinit_itable", needsRecovery: ext4NeedsRecovery,
		}, nil
	case XFS:
		return filesystem{
			program:       server.Program{Name: "mkfs.xfs", Folders: folders, Get: "install xfsprogs (apt-get install xfsprogs)"},
			args:          []string{"-q"},
			needsRecovery: xfsNeedsRecovery,
		}, nil
	}
	return filesystem{}, fmt.Errorf("no file system %q", name)
}

// ext4NeedsRecovery looks at the superblock (Linux, Documentation/filesystems/ext4/super.rst:
// s_feature_incompat, INCOMPAT_RECOVER).
func ext4NeedsRecovery(image *os.File) (bool, error) {
	const superblock, offsetMagic, offsetIncompat, toRecover = 1024, 0x38, 0x60, 0x4
	block := make([]byte, 1024)
	if _, err := image.ReadAt(block, superblock); err != nil {
		return false, err
	}
	if binary.LittleEndian.Uint16(block[offsetMagic:]) != 0xef53 {
		return false, fmt.Errorf("%s holds no ext4 file system", image.Name())
	}
	return binary.LittleEndian.Uint32(block[offsetIncompat:])&toRecover != 0, nil
}

// xfsNeedsRecovery looks for the log's last record, which is that of an unmount if the file
// system was left in order (XFS Algorithms & Data Structures, "Superblocks" and "Journaling
// Log": xfs_dsb, xlog_rec_header, xlog_op_header).
func xfsNeedsRecovery(image *os.File) (bool, error) {
	const sector, magic, unmountRecord = 512, 0xfeedbabe, 0x20
	block := make([]byte, sector)
	if _, err := image.ReadAt(block, 0); err != nil {
		return false, err
	}
	if string(block[:4]) != "XFSB" {
		return false, fmt.Errorf("%s holds no XFS file system", image.Name())
	}
	number := func(at int) int64 { return int64(binary.BigEndian.Uint32(block[at:])) }
	start, groupBits := binary.BigEndian.Uint64(block[48:]), block[124]
	inGroup := int64(start & (1<<groupBits - 1))
	begin := (int64(start>>groupBits)*number(84) + inGroup) * number(4)
	log := make([]byte, number(96)*number(4))
	if _, err := image.ReadAt(log, begin); err != nil {
		return false, fmt.Errorf("read the log of %s: %w", image.Name(), err)
	}
	last, newest := -1, uint64(0)
	for at := 0; at+2*sector <= len(log); at += sector {
		// No other sector begins so: the first bytes of each are the cycle's number.
		if binary.BigEndian.Uint32(log[at:]) == magic && binary.BigEndian.Uint64(log[at+16:]) >= newest {
			last, newest = at, binary.BigEndian.Uint64(log[at+16:])
		}
	}
	if last < 0 {
		return false, fmt.Errorf("the log of %s has no record", image.Name())
	}
	operations := binary.BigEndian.Uint32(log[last+40:])
	return operations != 1 || log[last+sector+9]&unmountRecord == 0, nil
}
