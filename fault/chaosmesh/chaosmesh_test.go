package chaosmesh

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/fault"
	"assay/internal/expect"
)

// selected is the selector of most files.
const selected = "  mode: one\n  selector:\n    namespaces: [db]\n    labelSelectors:\n      app: mongodb\n"

func object(kind, spec string) string {
	return "apiVersion: chaos-mesh.org/v1alpha1\nkind: " + kind + "\nmetadata:\n  name: x\n  namespace: db\nspec:\n" + spec
}

// ours and pods are the translations for assay's nodes and for pods: faults joined by "; ", or !
// and a part of the error.
type translating struct{ name, text, ours, pods string }

func TestFiles(t *testing.T) {
	const partition = "  action: partition\n  direction: both\n  duration: 20s\n"
	const roles = "  mode: one\n  selector: {labelSelectors: {kubedb.com/role: primary}}\n  target:\n    mode: all\n    selector: {labelSelectors: {kubedb.com/role: standby}}\n"
	for _, c := range []translating{
		{"a kill", object("PodChaos", selected+"  action: pod-kill\n"), "kill any for 1s", "kill any[app=mongodb]"},
		{"a kill of 1.x with a cron of its own", strings.Replace(object("PodChaos", selected+"  action: pod-kill\n  scheduler:\n    cron: '@every 2m'\n"), "chaos-mesh.org", "pingcap.com", 1),
			"kill any every 2m for 1s", "kill any[app=mongodb] every 2m"},
		{"a kill with grace", object("PodChaos", selected+"  action: pod-kill\n  gracePeriod: 30\n"), "stop any for 1s", "!f.yaml:13: spec.gracePeriod: assay gives a deleted pod no time, or all that it asks for; take it out"},
		{"a failure of two", object("PodChaos", "  action: pod-failure\n  mode: fixed\n  value: '2'\n  duration: 30s\n  selector:\n    labelSelectors: {app: db}\n"),
			"stop 2 for 30s", "pod-failure 2[app=db] for 30s"},
		{"a failure without end", object("PodChaos", selected+"  action: pod-failure\n"), "stop any for ever", "pod-failure any[app=mongodb] for ever"},
		{"containers", object("PodChaos", selected+"  action: container-kill\n  containerNames: [mongod, agent]\n"), "kill any for 1s", "container-kill=mongod,agent any[app=mongodb]"},
		{"no containers", object("PodChaos", selected+"  action: container-kill\n"), "!spec.containerNames: it is missing", "!spec.containerNames"},
		{"a drawn share, by the clock", object("Schedule", "  schedule: '*/5 * * * *'\n  concurrencyPolicy: Forbid\n  historyLimit: 2\n  type: PodChaos\n  podChaos:\n    action: pod-failure\n    mode: random-max-percent\n    value: '50'\n    duration: 30s\n    selector: {labelSelectors: {app: db}}\n"),
			"stop 0..50% every 5m for 30s", "pod-failure 0..50%[app=db] every 5m for 30s"},
		{"a share", object("PodChaos", strings.Replace(selected, "one", "fixed-percent\n  value: 50", 1)+"  action: pod-kill\n"), "kill 50% for 1s", "kill 50%[app=mongodb]"},
		{"a partition by roles", object("NetworkChaos", partition+roles), "partition primary,all for 20s", "partition any[kubedb.com/role=primary],all[kubedb.com/role=standby] for 20s"},
		{"a partition one way", object("NetworkChaos", "  action: partition\n  duration: 20s\n"+selected+"  target: {mode: one, selector: {labelSelectors: {app: mongodb}}}\n"), "partition any>any for 20s", "partition any[app=mongodb]>any[app=mongodb] for 20s"},
		{"a partition from", object("NetworkChaos", "  action: partition\n  direction: from\n  duration: 20s\n"+selected+"  target: {mode: all, selector: {labelSelectors: {app: db}}}\n"), "partition all>any for 20s", "partition all[app=db]>any[app=mongodb] for 20s"},
		{"a partition of groups", object("NetworkChaos", strings.Replace(partition+selected, "one", "all", 1)+"  target: {mode: all, selector: {labelSelectors: {app: b}}}\n"), "!spec.mode: which nodes are on which side is not known without pods; write --fault 'partition halves'", "partition all[app=mongodb],all[app=b] for 20s"},
		{"a partition from nothing", object("NetworkChaos", partition+selected), "!spec.target", "!f.yaml:7: spec.target: a partition without a target"},
		{"cut off from everybody", object("NetworkChaos", partition+selected+"  externalTargets: [0.0.0.0/0]\n"), "isolate any for 20s", "isolate any[app=mongodb] for 20s"},
		{"cut off from an address", object("NetworkChaos", partition+selected+"  externalTargets: [example.com]\n"), "!spec.externalTargets", "!assay cuts off from nodes or from everybody"},
		{"loss", object("NetworkChaos", selected+"  action: loss\n  loss: {loss: '25', correlation: '0'}\n  duration: 1m\n"), "flaky=25% any for 1m", "flaky=25% any[app=mongodb] for 1m"},
		{"loss in bursts", object("NetworkChaos", selected+"  action: loss\n  loss:\n    loss: '25'\n    correlation: '50'\n  duration: 1m\n"), "!f.yaml:15: spec.loss.correlation: each packet has its own chance; write '0'", "!spec.loss.correlation"},
		{"loss to a target", object("NetworkChaos", selected+"  action: loss\n  loss: {loss: '25'}\n  target: {mode: all, selector: {labelSelectors: {a: b}}}\n"), "!spec.target: no fault of assay stands for it", "!spec.target"},
		{"delay", object("NetworkChaos", selected+"  action: delay\n  delay: {latency: 90ms, correlation: '25', jitter: 0ms}\n  duration: 1m\n"), "delay=90ms any for 1m", "delay=90ms any[app=mongodb] for 1m"},
		{"unsteady delay", object("NetworkChaos", selected+"  action: delay\n  delay: {latency: 90ms, jitter: 9ms}\n"), "!spec.delay.jitter", "!spec.delay.jitter: a delay of assay is the same for all packets; write 0ms"},
		{"bandwidth", object("NetworkChaos", selected+"  action: bandwidth\n  bandwidth: {rate: 1mbps, limit: 20971520, buffer: 10000}\n  duration: 1m\n"), "!pods only", "bandwidth=1MiB any[app=mongodb] for 1m"},
		{"corruption", object("NetworkChaos", selected+"  action: corrupt\n  corrupt: {corrupt: '40'}\n"), `!spec.action: no fault of assay stands for "corrupt"`, "!spec.action"},
		{"latency of 1.x", object("IoChaos", selected+"  action: latency\n  volumePath: /data\n  path: '/data/**/*'\n  delay: 100ms\n  percent: 100\n  duration: 400s\n  scheduler: {cron: '@every 10m'}\n"),
			"io-delay=100ms any every 10m for 6m40s", "io-delay=100ms any[app=mongodb] every 10m for 6m40s"},
		{"half of the operations", object("IOChaos", selected+"  action: latency\n  volumePath: /data\n  delay: 100ms\n  percent: 50\n"), "!spec.percent", "!spec.percent: assay does it to every operation; write 100"},
		{"no space", object("IOChaos", selected+"  action: fault\n  volumePath: /data\n  errno: 28\n  methods: [WRITE]\n  duration: 10s\n"), "disk-full any for 10s", "disk-full any[app=mongodb] for 10s"},
		{"unreadable files", object("IOChaos", selected+"  action: fault\n  volumePath: /var/lib/mysql\n  path: /var/lib/mysql/**/*.ibd\n  errno: 5\n  methods: [read]\n  duration: 10s\n"), "read-error=*.ibd any for 10s", "!spec.path"},
		{"another way to fail", object("IOChaos", selected+"  action: mistake\n  volumePath: /d\n  mistake: {filling: zero}\n"), `!spec.action: no fault of assay stands for "mistake"; write latency or fault`, "!spec.action"},
		{"all operations fail", object("IOChaos", selected+"  action: fault\n  volumePath: /d\n  errno: 5\n"), "!spec.methods: assay has reads fail", "!spec.methods"},
		{"stress", object("StressChaos", selected+"  stressors:\n    cpu: {workers: 2, load: 100}\n    memory: {workers: 1, size: 256MB}\n  duration: 30s\n"),
			"!write --fault 'slowcpu=0.1 any'; or do it to pods, with --kubernetes", "stress-cpu=2 any[app=mongodb] for 30s; stress-memory=250000KiB any[app=mongodb] for 30s"},
		{"half a processor", object("StressChaos", selected+"  stressors: {cpu: {workers: 2, load: 80}}\n"), "!pods only", "!spec.stressors.cpu.load"},
		{"time", object("TimeChaos", selected+"  timeOffset: -10m\n  clockIds: [CLOCK_REALTIME]\n  duration: 30s\n"), "clock=-10m any for 30s", "clock=-10m any[app=mongodb] for 30s"},
		{"another clock", object("TimeChaos", selected+"  timeOffset: 10m\n  clockIds: [CLOCK_MONOTONIC]\n"), "!spec.clockIds", "!spec.clockIds"},
		{"a pod by name", object("PodChaos", "  action: pod-kill\n  mode: all\n  selector: {pods: {db: [mongo-1]}}\n"), "!spec.selector.pods: nodes that assay starts have other names", "kill pod/mongo-1"},
		{"expressions", object("PodChaos", "  action: pod-kill\n  mode: one\n  selector:\n    expressionSelectors:\n    - {key: tier, operator: In, values: [a]}\n    - {key: proxy, operator: DoesNotExist}\n"), "!spec.selector: which of the nodes that assay starts have the label tier=a is not known", "kill any[!proxy,tier=a]"},
		{"two networks' faults in one", object("NetworkChaos", selected+"  action: loss\n  loss: {loss: '5'}\n  delay: {latency: 1s}\n"), "!spec.delay: no fault of assay stands for it; write an object for each", "!spec.delay"},
		{"a sidecar", object("PodChaos", selected+"  action: container-kill\n  containerNames: [metrics]\n"), "!spec.containerNames: a node that assay starts has no container beside", "container-kill=metrics any[app=mongodb]"},
		{"stress of a sidecar", object("TimeChaos", selected+"  containerNames: [metrics]\n  timeOffset: -10m\n"), "!spec.containerNames", "!spec.containerNames"},
		{"two objects", object("PodChaos", selected+"  action: pod-kill\n") + "---\n# nothing\n---\n" + object("NetworkChaos", selected+"  action: loss\n  loss: {loss: '5'}\n  duration: 5s\n"),
			"kill any for 1s; flaky=5% any for 5s", "kill any[app=mongodb]; flaky=5% any[app=mongodb] for 5s"},
		{"an error in the second", "---\n" + object("PodChaos", selected+"  action: pod-kill\n") + "---\n---\n--- # the third\n" + object("PodChaos", selected+"  action: kill\n"), `!f.yaml:28: spec.action: there is no action "kill"`, "!f.yaml:28: spec.action"},
		{"no object", "---\n--- 3\n", "!f.yaml:2: it is no mapping", "!f.yaml:2: it is no mapping"},
		{"another namespace", strings.ReplaceAll(object("PodChaos", selected+"  action: pod-kill\n"), "[db]", "[prod]"), "kill any for 1s", "!f.yaml:9: spec.selector.namespaces: the pods of the run are in namespace db, not in prod"},
		{"no labels", object("PodChaos", "  action: pod-kill\n  mode: all\n  selector: {namespaces: [db]}\n"), "kill all for 1s", "!spec.selector.labelSelectors: without labels it selects every pod"},
		{"other selectors", object("PodChaos", "  action: pod-kill\n  mode: all\n  selector: {fieldSelectors: {a: b}}\n"), "!spec.selector.fieldSelectors", "!select by labelSelectors"},
		{"days of the week", object("Schedule", "  schedule: '0 9 * * 1-5'\n  type: PodChaos\n  podChaos:\n    action: pod-kill\n    mode: one\n    selector: {labelSelectors: {a: b}}\n"), `!f.yaml:7: spec.schedule: "0 9 * * 1-5" cannot be said as every T`, "!spec.schedule"},
		{"no end before the next", object("Schedule", "  schedule: '@every 10s'\n  type: PodChaos\n  podChaos:\n    action: pod-failure\n    duration: 10s\n    mode: one\n    selector: {labelSelectors: {app: b}}\n"), "!spec.podChaos.duration: it lasts until the next one is due; write less than 10s", "!spec.podChaos.duration"},
		{"a schedule without end", object("Schedule", "  schedule: '@every 10s'\n  type: PodChaos\n  podChaos:\n    action: pod-failure\n    mode: one\n    selector: {labelSelectors: {app: b}}\n"), "!spec.podChaos.duration: it is missing", "!spec.podChaos.duration"},
		{"a workflow", object("Workflow", "  entry: a\n"), `!f.yaml:2: kind: no fault of assay stands for kind "Workflow"`, "!kind"},
		{"something else", "apiVersion: v1\nkind: ConfigMap\n", `!f.yaml:1: apiVersion: "v1" is not Chaos Mesh's`, "!apiVersion"},
		{"an unknown field", object("PodChaos", selected+"  action: pod-kill\n  durration: 3s\n"), "!f.yaml:13: spec.durration: assay does not know this field here; take it out, if the fault is what you mean without it; did you mean duration?", "!spec.durration"},
		{"a paused one", strings.Replace(object("PodChaos", selected+"  action: pod-kill\n"), "  name: x\n", "  name: x\n  annotations: {experiment.chaos-mesh.org/pause: 'true'}\n", 1), "!the object is paused", "!the object is paused"},
		{"a mode that is none", strings.Replace(object("PodChaos", selected+"  action: pod-kill\n"), "one", "some", 1), `!f.yaml:7: spec.mode: there is no mode "some"`, "!spec.mode"},
		{"no value", strings.Replace(object("PodChaos", selected+"  action: pod-kill\n"), "one", "fixed", 1), "!write a whole number", "!write a whole number"},
		{"twice", object("PodChaos", selected+"  action: pod-kill\n  action: pod-kill\n"), "!f.yaml:13", "!f.yaml:13"},
		{"no YAML", "kind: PodChaos\n  spec: [\n", "!f.yaml:", "!it is no YAML"},
		{"a template", "kind: PodChaos\nspec:\n  {{- toYaml .Values }}\n", "!f.yaml:", "!f.yaml:"},
		{"nothing", "# nothing\n", "!the file is empty", "!the file is empty"},
		{"too large", strings.Repeat("# nothing\n", 30000), "!the file is larger than", "!the file is larger than"},
		{"a value that no fault takes", object("NetworkChaos", selected+"  action: loss\n  loss: {loss: '250'}\n"), "!it would be the fault \"flaky=250% any for ever\"", "!cannot be used"},
	} {
		for where, want := range map[Where]string{{}: c.ours, {Namespace: "db"}: c.pods} {
			all, err := Read("dir/f.yaml", []byte(c.text), where)
			wrong, refused := strings.CutPrefix(want, "!")
			if refused {
				if e, is := errors.AsType[*Error](err); !is || !strings.Contains(err.Error(), wrong) || e.Line == 0 {
					t.Errorf("%s, %+v: %v, want %s", c.name, where, err, wrong)
				}
				continue
			}
			expect.NoError(t, err)
			var got []string
			for _, f := range all {
				got = append(got, f.Fault.Written().String())
				if !strings.HasPrefix(f.Fault.Source, "f.yaml:") || !strings.HasSuffix(f.Fault.Source, " x") {
					t.Errorf("%s: it is from %q", c.name, f.Fault.Source)
				}
			}
			if strings.Join(got, "; ") != want {
				t.Errorf("%s, %+v: %q, want %q", c.name, where, got, want)
			}
		}
	}
}

// TestSelectors: an unknown selector is refused and never means more nodes. For pods it stays as it
// is.
func TestSelectors(t *testing.T) {
	const unknown = "!f.yaml:9: spec.selector: which of the nodes that assay starts have the label "
	for _, c := range []struct{ mode, selector, ours, pods string }{
		{"one", "expressionSelectors: [{key: role, operator: NotIn, values: [primary]}]", "kill secondary for 1s", "kill any[role!=primary]"},
		{"one", "expressionSelectors: [{key: role, operator: NotIn, values: [master, primary]}]", "kill secondary for 1s", "kill any[role!=master,role!=primary]"},
		{"one", "expressionSelectors: [{key: role, operator: NotIn, values: [replica]}]", unknown + "role!=replica", "kill any[role!=replica]"},
		{"one", "expressionSelectors: [{key: role, operator: NotIn, values: [primary, replica]}]", unknown + "role!=primary,role!=replica", "kill any[role!=primary,role!=replica]"},
		{"one", "expressionSelectors: [{key: role, operator: In, values: [primary]}]", "kill primary for 1s", "kill any[role=primary]"},
		{"one", "expressionSelectors: [{key: role, operator: In, values: [primary, replica]}]", "!operator: In of 2 values", "!operator: In of 2 values"},
		{"one", "expressionSelectors: [{key: role, operator: NotIn, values: []}]", "!operator: NotIn of 0 values", "!operator: NotIn of 0 values"},
		{"one", "expressionSelectors: [{key: role, operator: Exists, values: [a]}]", "!operator: Exists of 1 values", "!operator: Exists of 1 values"},
		{"all", "expressionSelectors: [{key: role, operator: Exists}]", unknown + "role is", "kill all[role]"},
		{"all", "expressionSelectors: [{key: role, operator: DoesNotExist}]", unknown + "!role is", "kill all[!role]"},
		{"all", "expressionSelectors: [{key: app, operator: NotIn, values: [db]}]", unknown + "app!=db is", "kill all[app!=db]"},
		{"all", "expressionSelectors: [{key: app, operator: DoesNotExist}]", unknown + "!app is", "kill all[!app]"},
		{"all", "expressionSelectors: [{key: app, operator: Near, values: [a]}]", "!operator: Near of 1 values", "!operator: Near of 1 values"},
		{"all", "labelSelectors: {statefulset.kubernetes.io/pod-name: redis-0}", unknown + "statefulset.kubernetes.io/pod-name=redis-0", "kill all[statefulset.kubernetes.io/pod-name=redis-0]"},
		{"all", "labelSelectors: {app: redis, apps.kubernetes.io/pod-index: '0'}", unknown + "apps.kubernetes.io/pod-index=0", "kill all[app=redis,apps.kubernetes.io/pod-index=0]"},
		{"all", "labelSelectors: {topology.kubernetes.io/zone: a}", unknown + "topology.kubernetes.io/zone=a", "kill all[topology.kubernetes.io/zone=a]"},
		{"all", "labelSelectors: {app: redis-replica}", unknown + "app=redis-replica", "kill all[app=redis-replica]"},
		{"all", "labelSelectors: {app.kubernetes.io/name: db-PgBouncer2}", unknown + "app.kubernetes.io/name=db-PgBouncer2", "kill all[app.kubernetes.io/name=db-PgBouncer2]"},
		{"all", "labelSelectors: {app: mongodb-replicaset}", "kill all for 1s", "kill all[app=mongodb-replicaset]"},
		{"all", "labelSelectors: {role: pooler}", unknown + "role=pooler", "kill all[role=pooler]"},
		{"all", "labelSelectors: {app.kubernetes.io/component: primary, app.kubernetes.io/name: db}", "kill primary for 1s", "kill all[app.kubernetes.io/component=primary,app.kubernetes.io/name=db]"},
		{"all", "labelSelectors: {role: replica}", "!spec.mode: all nodes that are not the primary", "kill all[role=replica]"},
		{"fixed\n  value: 2", "labelSelectors: {role: primary}", "!spec.mode: a number or share of the primary", "kill 2[role=primary]"},
		{"random-max-percent\n  value: 50", "labelSelectors: {role: primary}", "!spec.mode: a number or share of the primary", "kill 0..50%[role=primary]"},
		{"one", "{labelSelectors: {role: primary}, expressionSelectors: [{key: role, operator: NotIn, values: [primary]}]}", "!spec.selector: no node is both", "kill any[role!=primary,role=primary]"},
		{"one", "annotationSelectors: {a: b}", "!spec.selector.annotationSelectors", "!spec.selector.annotationSelectors"},
		{"one", "nodes: [n1]", "!spec.selector.nodes", "!spec.selector.nodes"},
		{"one", "nodeSelectors: {a: b}", "!spec.selector.nodeSelectors", "!spec.selector.nodeSelectors"},
		{"one", "podPhaseSelectors: [Running]", "!spec.selector.podPhaseSelectors", "!spec.selector.podPhaseSelectors"},
		{"one", "labelSelectors: {app: db}, physicalMachines: {a: [b]}", "!spec.selector.physicalMachines", "!spec.selector.physicalMachines"},
	} {
		if !strings.HasPrefix(c.selector, "{") {
			c.selector = "{" + c.selector + "}"
		}
		mode, value, _ := strings.Cut(c.mode, "\n")
		text := object("PodChaos", "  action: pod-kill\n  selector:\n   "+c.selector+"\n  mode: "+mode+"\n"+value+"\n")
		for where, want := range map[Where]string{{}: c.ours, {Namespace: "db"}: c.pods} {
			all, err := Read("dir/f.yaml", []byte(text), where)
			if wrong, refused := strings.CutPrefix(want, "!"); refused {
				if err == nil || !strings.Contains(err.Error(), wrong) {
					t.Errorf("%s, %+v: %v, %v, want %s", c.selector, where, all, err, wrong)
				}
			} else if err != nil || len(all) != 1 || all[0].Fault.Written().String() != want {
				t.Errorf("%s, %+v: %v, %v, want %s", c.selector, where, all, err, want)
			}
		}
	}
}

// TestNotes: decisions that the file leaves open are reported.
func TestNotes(t *testing.T) {
	text := object("Schedule", "  schedule: '@hourly'\n  type: NetworkChaos\n  networkChaos:\n    action: loss\n    mode: all\n    duration: 1m\n    loss: {loss: '5'}\n    selector: {labelSelectors: {app: a}}\n")
	all, err := Read("f.yaml", []byte(text), Where{})
	expect.NoError(t, err)
	want := "f.yaml:1 Schedule of NetworkChaos x: flaky=5% all every 1h for 1m (times count from the start of the measured part, not by the clock of @hourly; " +
		"the labels app=a are taken to mean every node; packets to the node are lost as well as those from it)"
	if len(all) != 1 || all[0].String() != want {
		t.Errorf("%v", all)
	}
	if _, err := Read("f.yaml", []byte(text), Where{At: "5s"}); err == nil || !strings.Contains(err.Error(), "schedule of their own") {
		t.Errorf("at 5s: %v", err)
	}
	all, err = Read("f.yaml", []byte(object("PodChaos", selected+"  action: pod-kill\n")), Where{At: "5s"})
	if err != nil || all[0].Fault.String() != "kill any at 5s for 1s # f.yaml:1 PodChaos x" {
		t.Errorf("%v, %v", all, err)
	}
}

func TestPeriods(t *testing.T) {
	for text, want := range map[string]string{
		"@every 90s": "1m30s", "* * * * *": "1m0s", "*/15 * * * *": "15m0s", "5 * * * *": "1h0m0s", "0 */6 * * ?": "6h0m0s", "30 2 * * *": "24h0m0s", "@weekly": "168h0m0s",
		"*/7 * * * *": "", "0 */5 * * *": "", "* 3 * * *": "", "1,2 * * * *": "", "0 0 1 * *": "", "@every": "", "@every -1s": "", "0 0 * * * *": "", "60 * * * *": "", "@yearly": "",
	} {
		every, _, ok := period(text)
		if ok != (want != "") || ok && every.String() != want {
			t.Errorf("%q: %v, %v", text, every, ok)
		}
	}
}

// FuzzRead: a file becomes faults that can be written and read again, or an *Error.
func FuzzRead(f *testing.F) {
	for _, kind := range []string{"PodChaos", "NetworkChaos", "IOChaos", "StressChaos", "TimeChaos", "Schedule"} {
		f.Add(object(kind, selected+"  action: pod-kill\n  duration: 3s\n  schedule: '* * * * *'\n  stressors: {cpu: {workers: 1}}\n  timeOffset: 1m\n"))
	}
	example, err := os.ReadFile(filepath.Join("..", "..", "examples", "chaos.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(example))
	f.Add("a: &a [*a]\n---\n- {x: {y: [1, ~, null]}}\n")
	f.Add("apiVersion: chaos-mesh.org/v1alpha1\nkind: PodChaos\nmetadata: 3\nspec: [a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, where := range []Where{{}, {Namespace: "db", At: "3s"}} {
			all, err := Read("f.yaml", []byte(text), where)
			if err != nil {
				if e, is := errors.AsType[*Error](err); !is || e.Problem == "" || len(all) > 0 {
					t.Fatalf("%q: %v", text, err)
				}
				continue
			}
			if slices.ContainsFunc(all, func(f Translation) bool {
				again, err := fault.Parse(f.Fault.String())
				return err != nil || again != f.Fault
			}) {
				t.Fatalf("%q: %v", text, all)
			}
		}
	})
}
