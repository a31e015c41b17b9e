package chaosmesh

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/fault"
	"assay/internal/quantity"
)

// again is how long a killed server is away on nodes that assay starts: no controller makes it
// again at once, as with a pod.
const again = time.Second

func (d *document) podChaos(m *mapping) {
	action, grace := m.needed("action", "write pod-kill, pod-failure or container-kill"), m.text("gracePeriod")
	containers := m.list("containerNames")
	target := d.single(m)
	graceful := grace != "" && grace != "0"
	switch {
	case action == "pod-kill" && graceful && d.pods():
		m.refuse("gracePeriod", "take it out, or write --fault 'stop "+target+"', which gives a pod its own time to end", "assay gives a deleted pod no time, or all that it asks for")
	case action == "pod-kill" && d.pods():
		d.add("kill", target)
	case action == "pod-kill" && graceful:
		d.add("stop", target).length = again
	case action == "pod-kill":
		d.add("kill", target).length = again
	case action == "container-kill" && len(containers) == 0:
		m.refuse("containerNames", "write the names of the containers", "it is missing")
	case action == "container-kill" && d.pods():
		d.add("container-kill="+strings.Join(containers, ","), target)
	case action == "container-kill":
		d.ofServer(m, containers)
		d.add("kill", target).length = again
	case action == "pod-failure" && d.pods():
		d.add("pod-failure", target)
	case action == "pod-failure":
		d.add("stop", target)
	default:
		m.refuse("action", "write pod-kill, pod-failure or container-kill", "there is no action %q", action)
	}
}

func (d *document) networkChaos(m *mapping) {
	action := m.needed("action", "write partition, loss, delay or bandwidth")
	if !slices.Contains([]string{"partition", "loss", "delay", "bandwidth"}, action) {
		m.refuse("action", "write partition, loss, delay or bandwidth", "no fault of assay stands for %q", action)
	}
	m.none("take it out", "device", "targetDevice", "rate")
	if behavior := m.text("partitionBehavior"); behavior != "" && behavior != "drop" {
		m.refuse("partitionBehavior", "write drop", "assay drops packets and does not answer for them")
	}
	for _, part := range []string{"loss", "delay", "bandwidth", "duplicate", "corrupt"} {
		if part != action {
			m.none("write an object for each: assay does one of them with a fault", part) // Chaos Mesh would ignore one of them
		}
	}
	if action == "partition" {
		d.partition(m)
		return
	}
	m.none("take it out: the fault is done to all packets of the node", "target", "externalTargets")
	if direction := m.text("direction"); direction != "" && direction != "to" {
		m.refuse("direction", "take it out", "without a target, only packets that leave are meant")
	}
	target := d.single(m)
	part := m.sub(action)
	switch action {
	case "loss":
		if !d.pods() {
			d.note("packets to the node are lost as well as those from it")
		}
		share := part.needed("loss", "write a percentage, such as '25'")
		d.uncorrelated(part)
		d.add("flaky="+share+"%", target)
	case "delay":
		latency, jitter := part.needed("latency", "write a time, such as 100ms"), part.text("jitter")
		part.text("correlation") // of the jitter
		if steady, err := time.ParseDuration(jitter); jitter != "" && (err != nil || steady != 0) {
			part.refuse("jitter", "write 0ms", "a delay of assay is the same for all packets")
		}
		part.none("take it out", "reorder")
		if !d.pods() {
			d.note("packets to the node come later as well as those from it")
		}
		d.add("delay="+latency, target)
	case "bandwidth":
		rate := part.needed("rate", "write such as 1mbps, which is bytes")
		part.text("limit")
		part.text("buffer")
		part.none("take it out", "peakrate", "minburst")
		d.onlyPods(m, "action", "write loss, or --fault 'flaky=20% "+target+"'")
		d.note("limit and buffer are assay's own: a second's worth may wait")
		d.add("bandwidth="+d.rate(part, rate), target)
	}
	part.done()
}

// partition is between two sides, or isolates from all others.
func (d *document) partition(m *mapping) {
	if m.has("externalTargets") {
		everybody := slices.Sorted(slices.Values(m.list("externalTargets")))
		m.none("take it out", "target")
		if direction := m.text("direction"); direction != "both" || !slices.Equal(everybody, []string{"0.0.0.0/1", "128.0.0.0/1"}) && !slices.Equal(everybody, []string{"0.0.0.0/0"}) {
			m.refuse("externalTargets", "write 0.0.0.0/0 with direction: both, or a target", "assay cuts off from nodes or from everybody, not from other addresses")
		}
		d.add("isolate", d.single(m))
		return
	}
	d.add("partition", d.pair(m))
}

// uncorrelated refuses a chance that depends on the previous packet.
func (d *document) uncorrelated(part *mapping) {
	text := part.text("correlation")
	if n, err := strconv.ParseFloat(text, 64); text != "" && (err != nil || n != 0) {
		part.refuse("correlation", "write '0'", "each packet has its own chance")
	}
}

// rate converts Chaos Mesh's rates, in powers of 1024 bytes a second.
func (d *document) rate(m *mapping, text string) string {
	small := strings.ToLower(strings.TrimSpace(text))
	for i, unit := range []string{"kbps", "mbps", "gbps", "tbps", "bps"} {
		digits, is := strings.CutSuffix(small, unit)
		if !is {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 32)
		if err != nil {
			break
		}
		return quantity.Format(n << (10 * ((i + 1) % 5)))
	}
	m.refuse("rate", "write such as 1mbps, which is bytes", "%q is no rate", text)
	return "1MiB"
}

func (d *document) ioChaos(m *mapping) {
	action := m.needed("action", "write latency or fault")
	if action != "latency" && action != "fault" {
		m.refuse("action", "write latency or fault", "no fault of assay stands for %q", action)
	}
	if share := m.text("percent"); share != "" && share != "100" {
		m.refuse("percent", "write 100", "assay does it to every operation")
	}
	d.server(m)
	m.none("take it out", "attr", "mistake", "layer", "addr", "configName")
	methods := m.list("methods")
	for i := range methods {
		methods[i] = strings.ToLower(methods[i])
	}
	slices.Sort(methods)
	target := d.single(m)
	if d.pods() {
		d.note("it is done to the pod's first persistent volume")
	}
	files := d.files(m)
	whole := func() {
		if files != "" {
			m.refuse("path", "take it out: the fault is done to all files", "assay does this to all files of a disk")
		}
	}
	delay, errno := m.text("delay"), m.text("errno")
	switch {
	case action == "latency":
		whole()
		if len(methods) > 0 {
			m.refuse("methods", "take it out", "assay delays every operation on files")
		}
		if delay == "" {
			m.refuse("delay", "write a time, such as 100ms", "it is missing")
		}
		d.add("io-delay="+delay, target)
	case action == "fault" && errno == "28": // ENOSPC of Linux
		whole()
		if len(methods) > 0 && !slices.Contains(methods, "write") {
			m.refuse("methods", "write [write, create, mkdir, mknod], or take it out", "a full disk refuses to write")
		}
		d.note("only what would take more space is refused")
		d.add("disk-full", target)
	case action == "fault" && errno == "5": // EIO
		if !slices.Equal(methods, []string{"read"}) {
			m.refuse("methods", "write [read]", "assay has reads fail with this error, and no other operations")
		}
		name := "read-error"
		if files != "" {
			name += "=" + files
		}
		d.add(name, target)
	case action == "fault":
		m.refuse("errno", "write 28 (no space) or 5 (input/output error) with methods: [read]", "no fault of assay gives errno %q", errno)
	}
}

// files is the pattern of files, empty for all. On our nodes, a pattern without a slash means files
// of that name anywhere. In a pod, it means files at the top of its volume.
func (d *document) files(m *mapping) string {
	volume, pattern := path.Clean("/"+m.text("volumePath")), m.text("path")
	if m.has("volumePath") && !d.pods() {
		d.note("the volume " + volume + " is taken to mean the folder of the node's data")
	}
	below := strings.TrimPrefix(strings.TrimPrefix(pattern, volume), "/")
	anywhere := strings.TrimPrefix(below, "**/")
	inside := pattern == volume || strings.HasPrefix(pattern, strings.TrimSuffix(volume, "/")+"/")
	switch {
	case pattern == "" || inside && (below == "**" || below == "**/*"):
		return ""
	case !inside || below == "", strings.Contains(anywhere, "**"),
		anywhere != below && d.pods(), anywhere == below && !d.pods() && !strings.Contains(below, "/"):
		m.refuse("path", "write "+path.Join(volume, "**/*"), "%q cannot be said as files of a fault", pattern)
	}
	return anywhere
}

// server refuses containers of pods, and requires the database's container for other nodes.
func (d *document) server(m *mapping) {
	if containers := m.list("containerNames"); len(containers) > 0 {
		if d.pods() {
			m.refuse("containerNames", "take it out: the fault is done to the pod's server", "this fault does not tell the containers of a pod apart")
		}
		d.ofServer(m, containers)
	}
}

// ofServer requires the database's container, by the names that charts and operators use: a node
// that assay starts has no sidecar.
func (d *document) ofServer(m *mapping, containers []string) {
	known := []string{
		"postgres", "postgresql", "patroni", "spilo", "mysql", "mysqld", "mariadb", "mariadbd", "galera", "mongo", "mongod", "mongodb",
		"redis", "redis-server", "etcd", "cassandra", "tidb", "database", "db", "server",
	}
	if !slices.ContainsFunc(containers, func(name string) bool { return slices.Contains(known, name) }) {
		m.refuse("containerNames", "name the database's container, such as postgres, or take the object out", "a node that assay starts has no container beside the database's server")
	}
	d.note("a node's server stands for the container, and other containers are not there")
}

func (d *document) stressChaos(m *mapping) {
	d.server(m)
	m.none("write stressors", "stressngStressors")
	target := d.single(m)
	stressors := m.sub("stressors")
	cpu, memory := stressors.sub("cpu"), stressors.sub("memory")
	if !stressors.has("cpu") && !stressors.has("memory") {
		m.refuse("stressors", "write cpu or memory", "it is missing")
	}
	for _, s := range []*mapping{cpu, memory} {
		s.none("take it out", "options")
	}
	if stressors.has("cpu") {
		d.onlyPods(stressors, "cpu", "write --fault 'slowcpu=0.1 "+target+"'")
		if load := cpu.text("load"); load != "" && load != "100" {
			cpu.refuse("load", "write 100", "processes of assay are busy all the time")
		}
		d.add("stress-cpu="+cpu.needed("workers", "write how many processes"), target)
		cpu.done()
	}
	if stressors.has("memory") {
		d.onlyPods(stressors, "memory", "start the cluster with less memory, such as --cluster postgres:2,memory=300MiB")
		if workers := memory.needed("workers", "write 1"); workers != "1" {
			memory.refuse("workers", "write 1, and size for all", "assay takes the memory with one process")
		}
		if adjusted := memory.text("oomScoreAdj"); adjusted != "" && adjusted != "0" {
			memory.refuse("oomScoreAdj", "take it out", "no fault of assay stands for it")
		}
		d.add("stress-memory="+memory.needed("size", "write bytes, such as 256MB"), target)
		memory.done()
	}
	stressors.done()
}

func (d *document) timeChaos(m *mapping) {
	d.server(m)
	if clocks := m.list("clockIds"); len(clocks) > 0 && !slices.Equal(clocks, []string{"CLOCK_REALTIME"}) {
		m.refuse("clockIds", "write [CLOCK_REALTIME], or take it out", "assay shifts the time of day alone")
	}
	offset := m.needed("timeOffset", "write such as -10m")
	if !strings.HasPrefix(offset, "-") && !strings.HasPrefix(offset, "+") {
		offset = "+" + offset
	}
	target := d.single(m)
	if !d.pods() {
		d.note("the server is started again under a shifted clock, and once more with the right one")
	}
	d.add("clock="+offset, target)
}

// onlyPods refuses what can be done to pods only.
func (d *document) onlyPods(m *mapping, key, want string) {
	if !d.pods() {
		m.refuse(key, want+"; or do it to pods, with --kubernetes", "assay does this to pods only")
	}
}

// lasts reports whether an action, with its value behind =, lasts until it is ended.
func lasts(action string) bool {
	name, _, _ := strings.Cut(action, "=")
	a, _ := fault.Lookup(name)
	return a.Lasts
}
