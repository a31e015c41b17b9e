#!/usr/bin/env python3
"""Runs the failover experiment of docs/failover.md and prints its tables.

usage: scripts/failover.py [--assay PROGRAM] [--out FOLDER] [--jobs N]
                           [--clusters LIST] [--faults LIST] [--policies LIST]

Each run is `assay run availability` with one fault, in a folder of its own
below FOLDER; a run whose result is there already is not done again. The tables
are made from the result.json files alone.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

# The node that is hurt: the primary where there is one, else the node that the
# writers use first.
TARGET = {"mongodb": "primary", "postgres": "primary", "mariadb": "n1", "cassandra": "n1"}


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--assay", default="./assay")
    p.add_argument("--out", default="runs/failover")
    p.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    p.add_argument("--clusters", default="mongodb:3,postgres:3,mariadb:3,cassandra:3")
    p.add_argument("--faults", default="kill,isolate,pause")
    p.add_argument("--policies", default="none,timeout,retry,idempotent")
    p.add_argument("--at", default="10s")
    p.add_argument("--for", dest="length", default="20s")
    p.add_argument("--duration", default="60s")
    return p.parse_args()


def command(a, cluster, fault, policy, folder):
    target = TARGET[cluster.split(":")[0]]
    return [a.assay, "run", "availability", "--cluster", cluster, "--policy", policy, "--seed", "1",
            "--duration", a.duration, "--fault", f"{fault} {target} at {a.at} for {a.length}",
            "--out", folder, "--quiet"]


def result_of(folder):
    try:
        with open(os.path.join(folder, "result.json")) as f:
            r = json.load(f)
    except (OSError, ValueError):
        return None
    return r if r.get("availability") else None


def carry_out(a, cluster, fault, policy):
    folder = os.path.join(a.out, f"{cluster}-{fault}-{policy}".replace(":", "").replace(",", "-").replace("=", ""))
    if result_of(folder) is None:
        done = subprocess.run(command(a, cluster, fault, policy, folder), capture_output=True, text=True)
        print(f"{cluster} {fault} {policy}: exit {done.returncode}: {(done.stdout or done.stderr).strip()[-160:]}", file=sys.stderr)
    return cluster, fault, policy, result_of(folder)


def seconds(ms, to_the_end=False):
    if ms is None or ms < 0:
        return "-"
    text = f"{ms / 1000:.1f} s"
    return text + " (to the end)" if to_the_end else text


def row(fault, policy, r):
    if r is None:
        return [fault, policy] + ["no result"] + [""] * 9
    f, x = r["faults"][0], r["availability"]
    errors = ", ".join(f"{e['attempts']} {e['class']}" for e in f["errors"][:3]) or "none"
    primary = f"{seconds(f['new_primary_after_ms'])}" if f.get("new_primary") else "-"
    return [fault, policy, primary, seconds(f["write_outage_ms"], f.get("writes_away")), seconds(f["read_outage_ms"], f.get("reads_away")),
            seconds(max(x["longest_write_ms"], x["longest_read_ms"])), str(x["hung_writes"] + x["hung_reads"]), errors,
            str(x["lost"]), str(x["duplicates"]), str(x["stale_reads"]), r["verdict"]]


HEAD = ["fault", "policy", "new primary", "writes away", "reads away", "longest call", "hung to the end", "errors of attempts",
        "acknowledged and lost", "done twice", "stale reads", "verdict"]


def main():
    a = arguments()
    os.makedirs(a.out, exist_ok=True)
    split = lambda text: [x for x in text.split(",") if x]
    clusters = split(a.clusters)
    plan = [(c, f, p) for c in clusters for f in split(a.faults) for p in split(a.policies)]
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        results = list(pool.map(lambda one: carry_out(a, *one), plan))
    for cluster in clusters:
        mine = [x for x in results if x[0] == cluster]
        known = [x[3] for x in mine if x[3]]
        if known:
            print(f"\n### {known[0]['database']['product']} {known[0]['database']['version'].split(' ')[0]} (`{cluster}`)\n")
        print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
        for _, fault, policy, r in mine:
            print("| " + " | ".join(row(fault, policy, r)) + " |")


main()
