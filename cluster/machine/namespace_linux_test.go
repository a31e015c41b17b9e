package machine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/expect"
)

func here(t *testing.T) string {
	t.Helper()
	name, err := os.Readlink(currentNamespace)
	if err != nil {
		t.Error(err)
	}
	return name
}

func spaceOf(t *testing.T, m *Machine) string {
	t.Helper()
	var info unix.Stat_t
	expect.NoError(t, unix.Stat(filepath.Join(namespaces, m.space.name), &info))
	return fmt.Sprintf("net:[%d]", info.Ino)
}

// strays returns this process's threads outside the host's namespace.
func strays(t *testing.T, home string) []string {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*")
	expect.NoError(t, err)
	var found []string
	for _, thread := range threads {
		if name, err := os.Readlink(thread + "/ns/net"); err == nil && name != home {
			found = append(found, thread+" in "+name)
		}
	}
	return found
}

func TestNoGoroutineIsLeftInANamespace(t *testing.T) {
	s := open(t, "n1", "n2", "n3")
	if s == nil {
		return
	}
	home := here(t)
	var spaces []string
	for _, m := range s.All() {
		spaces = append(spaces, spaceOf(t, m))
	}
	stop := make(chan struct{})
	var bystanders, working sync.WaitGroup
	for range 8 {
		bystanders.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if at := here(t); at != home {
					t.Errorf("a bystander is in %s", at)
					return
				}
				runtime.Gosched()
			}
		})
	}
	for worker := range 48 {
		working.Go(func() {
			for round := range 20 {
				m := (worker + round) % 3
				err := s.All()[m].Run(func() error {
					return visit(t, s, m, spaces, home, round)
				})
				if err != nil {
					t.Error(err)
				}
				if at := here(t); at != home {
					t.Errorf("after Run in %s", at)
				}
			}
		})
		working.Go(func() {
			defer func() { // Goexit runs it
				if at := here(t); at != home {
					t.Errorf("after Goexit in %s", at)
				}
			}()
			_ = s.All()[worker%3].Run(func() error {
				runtime.Goexit()
				return nil
			})
		})
	}
	working.Wait()
	close(stop)
	bystanders.Wait()
	if found := strays(t, home); len(found) > 0 {
		t.Errorf("threads %v", found)
	}
}

// visit runs on a machine. It blocks, starts goroutines, and visits another machine.
func visit(t *testing.T, s *Set, m int, spaces []string, home string, round int) error {
	if at := here(t); at != spaces[m] {
		return fmt.Errorf("in %s, not on machine %d in %s", at, m, spaces[m])
	}
	other := make(chan string)
	go func() { other <- here(t) }()
	if at := <-other; at != home {
		return fmt.Errorf("a goroutine started on a machine is in %s", at)
	}
	next := (m + 1) % 3
	err := s.All()[next].Run(func() error {
		if at := here(t); at != spaces[next] {
			return fmt.Errorf("in %s, not on machine %d in %s", at, next, spaces[next])
		}
		_, err := net.Interfaces() // a system call that depends on it
		return err
	})
	if round%5 == 0 {
		time.Sleep(time.Millisecond)
	}
	if at := here(t); at != spaces[m] {
		return fmt.Errorf("after another machine in %s, not on machine %d", at, m)
	}
	return err
}

func TestAThreadThatCannotBePutBackEnds(t *testing.T) {
	s := open(t, "n1")
	if s == nil {
		return
	}
	home := here(t)
	stuck := errors.New("stuck")
	type outcome struct {
		thread int
		err    error
	}
	result := make(chan outcome)
	var try func()
	try = func() {
		runtime.LockOSThread()
		if syscall.Gettid() == os.Getpid() { // the main thread would not end
			go try()
			<-t.Context().Done()
			runtime.UnlockOSThread()
			return
		}
		defer runtime.UnlockOSThread()
		file, err := s.All()[0].space.handle()
		if err != nil {
			result <- outcome{err: err}
			return
		}
		defer file.Close()
		enter := func() error { return unix.Setns(int(file.Fd()), unix.CLONE_NEWNET) }
		err = awayAndBack(enter, func() error { return nil }, func(*os.File) error { return stuck })
		result <- outcome{syscall.Gettid(), err}
	}
	go try()
	r := <-result
	if !errors.Is(r.err, stuck) {
		t.Errorf("the error is %v", r.err)
	}
	expect.Eventually(t, "the thread has ended", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", r.thread))
		return errors.Is(err, os.ErrNotExist)
	})
	if found := strays(t, home); len(found) > 0 {
		t.Errorf("threads %v", found)
	}
}

func TestAProcessLivesOnItsMachine(t *testing.T) {
	s := open(t, "n1")
	if s == nil {
		return
	}
	m := s.All()[0]
	child := exec.Command("sleep", "1000")
	expect.NoError(t, m.Run(child.Start))
	if at, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", child.Process.Pid)); err != nil || at != spaceOf(t, m) {
		t.Errorf("it is in %s, %v", at, err)
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", child.Process.Pid))
	expect.NoError(t, err)
	for _, f := range files {
		if target, _ := os.Readlink(f); strings.HasPrefix(target, "net:") || strings.Contains(target, "/ns/net") {
			t.Errorf("it holds %s", target)
		}
	}
	expect.NoError(t, child.Process.Kill())
	if err := child.Wait(); err == nil {
		t.Error("ended well after SIGKILL")
	}
	reason := errors.New("reason")
	if err := m.Run(func() error { return reason }); !errors.Is(err, reason) {
		t.Errorf("Run: %v", err)
	}
}
