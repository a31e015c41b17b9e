package load

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// newAlarm returns a kernelAlarm, or a timerAlarm if the kernel refuses.
func newAlarm() alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newTimerAlarm()
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	raw, err := file.SyscallConn()
	if err != nil || file.SetReadDeadline(time.Time{}) != nil { // the runtime's poller refuses it
		_ = file.Close() // nothing is written to it
		return newTimerAlarm()
	}
	return &kernelAlarm{file: file, raw: raw}
}

// kernelAlarm uses timerfd_create(2). The kernel wakes the runtime's poller for the descriptor with
// microsecond precision, while the poller's own timeout for Go's timers is in milliseconds. Unlike
// clock_nanosleep(2), it holds neither a thread nor one of the runtime's processors.
type kernelAlarm struct {
	file    *os.File
	raw     syscall.RawConn
	expired [8]byte
}

func (a *kernelAlarm) sleep(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(d, 1)))} // 0 would disarm it
	var set error
	err := a.raw.Control(func(fd uintptr) { set = unix.TimerfdSettime(int(fd), 0, &spec, nil) })
	if err != nil || set != nil { // the caller looks at its clock again
		time.Sleep(min(d, time.Millisecond))
		return
	}
	_, _ = a.file.Read(a.expired[:]) // ends with the time or with wake
}

func (a *kernelAlarm) wake() { _ = a.file.SetReadDeadline(time.Unix(1, 0)) }

func (a *kernelAlarm) close() { _ = a.file.Close() }
