package main

import (
	"strings"

	"github.com/spf13/pflag"
)

// foreign maps our flags to those of other load generators, separated by blanks: of pgbench,
// sysbench, YCSB, k6, hey, wrk, locust, JMeter, vegeta, HammerDB and psql.
func foreign() map[string]string {
	return map[string]string{
		"clients":      "-c -u --client --concurrency --concurrent --connection --connections --conns --num-clients --terminals --thread --threads --threadcount --user --users --virtual-users --vu --vus --workers",
		"duration":     "-T -z -d --run-time --runtime --seconds --test-time --time --max-time --max-run-time --maxexecutiontime --length",
		"ops":          "-n -t --count --events --iterations --num --num-requests --operationcount --operations --requests --total --transactions --loops",
		"rate":         "-R -q --arrival-rate --max-rate --qps --rps --tps --target --target-throughput --throughput --constant-arrival-rate",
		"ramp":         "-r --spawn-rate --hatch-rate --ramp-up --rampup",
		"warmup":       "--warm-up --warmup-time --warmup-duration --rampup-time",
		"db":           "-h -U --address --connection-string --conn-string --connect --conn --database --dbname --dsn --endpoint --host --password --port --uri --url --server",
		"out":          "-o --output --out-dir --output-dir --report-dir --results",
		"retry":        "--retries --max-tries",
		"max-attempts": "--max-retries",
		"timeout":      "--request-timeout --query-timeout",
		"isolation":    "--isolation-level --transaction-isolation --trx-level",
		"seed":         "--rand-seed --random-seed",
		"repeat":       "--runs --repeats --repetitions --trials",
		"plain":        "-P --progress --report-interval --no-color",
		"warehouses":   "-w -s --scale --warehouse --scale-factor",
		"scale":        "-s --scale-factor",
		"records":      "--recordcount --table-size --table_size --rows",
		"mix":          "--workload",
	}
}

// hintOfForeign names our flag for another program's, or is empty. A count of threads (-j) has no
// counterpart: assay uses processors as needed.
func hintOfForeign(unknown *pflag.NotExistError, has func(name string) bool) string {
	word := "--" + strings.ReplaceAll(strings.ToLower(unknown.GetSpecifiedName()), "_", "-")
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		word = "-" + unknown.GetSpecifiedName()
		if len(short) > 2 && strings.Trim(short, "abcdefghijklmnopqrstuvwxyz") == "" {
			word = "--" + short // -threads, as YCSB has it
		}
	}
	if word == "-j" || word == "--jobs" {
		return "; leave it out: assay uses all processors, and --clients says how many work at once"
	}
	for name, words := range foreign() {
		if has(name) && strings.Contains(" "+words+" ", " "+word+" ") {
			return "; here it is --" + name
		}
	}
	return ""
}
