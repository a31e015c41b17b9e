package ledger

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// spillFile is an unnamed file mapped into memory.
type spillFile struct {
	file    *os.File
	extents [][]byte
	size    int64
}

func newSpillFile(folder string) (*spillFile, error) {
	file, err := os.CreateTemp(folder, ".judging-*")
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("ledger: %w", err), file.Close())
	}
	return &spillFile{file: file}, nil
}

// grow returns size more bytes, all zero. It allocates them on disk, because writing to a mapped
// page without disk space would end the process.
func (m *spillFile) grow(size int) ([]byte, error) {
	fd := int(m.file.Fd())
	err := syscall.Fallocate(fd, 0, m.size, int64(size))
	for errors.Is(err, syscall.EINTR) { // the runtime sends itself signals
		err = syscall.Fallocate(fd, 0, m.size, int64(size))
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: room for %d bytes: %w", size, err)
	}
	part, err := syscall.Mmap(fd, m.size, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("ledger: map %d bytes: %w", size, err)
	}
	m.size += int64(size)
	m.extents = append(m.extents, part)
	return part, nil
}

func (m *spillFile) close() error {
	var all []error
	for _, part := range m.extents {
		all = append(all, syscall.Munmap(part))
	}
	return errors.Join(append(all, m.file.Close())...)
}
