package load

import (
	"sync"
	"time"
)

// alarm is an interruptible sleep for one goroutine at a time.
type alarm interface {
	// sleep returns after this long, or at once after wake.
	sleep(d time.Duration)
	// wake ends the sleep and all later ones. It may be called more than once.
	wake()
	// close frees the alarm. No goroutine may be sleeping.
	close()
}

// timerAlarm uses Go's timers, which may be a millisecond late when the runtime waits in
// epoll_wait(2).
type timerAlarm struct {
	woken chan struct{}
	once  sync.Once
}

func newTimerAlarm() *timerAlarm { return &timerAlarm{woken: make(chan struct{})} }

func (a *timerAlarm) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.woken:
	}
}

func (a *timerAlarm) wake() { a.once.Do(func() { close(a.woken) }) }

func (a *timerAlarm) close() { a.wake() }
