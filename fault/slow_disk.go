package fault

import (
	"errors"
	"fmt"
	"os"
	"time"

	"assay/cluster/disk"
	"assay/cluster/kubernetes"
	"assay/internal/quantity"
)

// A slow disk is a grey failure: the server answers and seems healthy, but does no work.

const ofItsOwn = " (cluster option disk=faulty, which is taken if none is given)"

func ioDelay() Action {
	return Action{Name: "io-delay", Value: wait(100 * time.Millisecond), Targets: nodeTargets(), Lasts: true, part: partDisk, state: "slowed",
		Effect: "has each operation that may have to reach the node's disk take this much longer: writes, syncs, reads of what is not in memory, changes of names" + ofItsOwn,
		disk:   faultyDisk,
		check:  checkFaultyDisks,
		on:     slowing(disk.Delay),
		Pods:   "has each operation on the files of the pod's volume take this much longer (Chaos Mesh)",
		pods: podMeans{chaos: kubernetes.IOChaos, spec: func(f Fault, pod kubernetes.Pod) map[string]any {
			return onVolume(pod, map[string]any{"action": "latency", "delay": valueOf[time.Duration](f).String()})
		}}}
}

func slowFsync() Action {
	return Action{Name: "slow-fsync", Value: wait(2 * time.Second), Targets: nodeTargets(), Lasts: true, part: partDisk, state: "slow to sync",
		Effect: "has each fsync of the node's server take this much longer, and nothing else" + ofItsOwn,
		disk:   faultyDisk,
		check:  checkFaultyDisks,
		on:     slowing(disk.SlowSync)}
}

func diskStall() Action {
	return Action{Name: "disk-stall", Targets: nodeTargets(), Lasts: true, part: partDisk, state: "stalled",
		Effect: "has the node's disk answer nothing, and refuse nothing, until it is healed; then all that waited goes on" + ofItsOwn,
		disk:   faultyDisk,
		check:  checkFaultyDisks,
		on:     slowing(disk.Stall)}
}

func slowing(kind disk.Kind) func(task) (injector, error) {
	return breaking(diskFailure{
		asked: func(f Fault) disk.Failure { return disk.Failure{Kind: kind, Wait: valueOf[time.Duration](f)} },
		struck: func(_ *brokenDisk, e disk.Effect) (observation, error) {
			return observation{proven: true, text: heldText(e)}, nil
		},
		probe:  probeSlow,
		mended: func(disk.Effect) string { return "its disk is as quick as before, " },
	})
}

func heldText(e disk.Effect) string {
	held := quantity.Duration(e.Held.Round(time.Millisecond))
	if e.Times == 1 {
		return fmt.Sprintf("one operation was kept waiting, for %s, of %s", held, e.File)
	}
	return fmt.Sprintf("%d operations were kept waiting, the longest for %s, the last of %s", e.Times, held, e.File)
}

func probeSlow(n *brokenDisk) (observation, error) {
	const most = 500 * time.Millisecond
	least := n.failure.Wait
	if least <= 0 || least > most {
		least = most
	}
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- syncFile(n.DiskFolder()) }() // it ends when the fault does, at the latest
	select {
	case err := <-done:
		took := time.Since(began)
		return observation{proven: err == nil && took >= least, text: fmt.Sprintf("the server used its disk for nothing; a file of assay's was synced in %v", took.Round(time.Millisecond))}, err
	case <-time.After(least):
		return observation{proven: true, text: fmt.Sprintf("the server used its disk for nothing; a file of assay's was not synced within %s", quantity.Duration(least))}, nil
	}
}

func syncFile(folder string) error {
	f, err := os.CreateTemp(folder, "assay-probe-")
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}
