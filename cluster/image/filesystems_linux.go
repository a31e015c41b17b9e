package image

import (
	"encoding/binary"
	"fmt"
	"os"

	"assay/cluster/server"
)

// filesystem is a kind of file system for images. Each accepts the request to shut down that is
// named after ext4 and came from XFS.
type filesystem struct {
	program server.Program // that makes one
	args    []string       // before the image
	options string         // of the mount
	// needsRecovery reports whether the journal of an unmounted image must be replayed.
	needsRecovery func(*os.File) (bool, error)
}

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

// ext4NeedsRecovery reads the superblock (Linux, Documentation/filesystems/ext4/super.rst:
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

// xfsNeedsRecovery reads the log's last record, which is an unmount record after an orderly end
// (XFS Algorithms & Data Structures, "Superblocks" and "Journaling Log": xfs_dsb, xlog_rec_header,
// xlog_op_header).
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
		// No other sector begins so, because the first bytes of each are the cycle's number.
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
