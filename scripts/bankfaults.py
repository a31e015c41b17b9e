#!/usr/bin/env python3
"""Runs bank transfers under each fault on each cluster and prints the table of
docs/failover.md.

usage: scripts/bankfaults.py [--assay PROGRAM] [--out FOLDER] [--jobs N]
                             [--clusters LIST] [--duration T] [--only FAULT]

A run whose result is there already is not done again.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

FAULTS = ["kill primary every 20s for 5s", "stop primary at 5s for 10s", "restart any every 15s", "pause primary at 5s for 10s",
          "pause any every 15s for 3s", "isolate primary at 5s for 10s", "isolate=clients primary at 5s for 10s",
          "partition halves at 5s for 10s", "partition one at 5s for 10s", "partition oneway at 5s for 10s",
          "flaky=20% any at 5s for 10s", "slowcpu=0.1 primary at 5s for 10s", "slowdisk=1MiB primary at 5s for 10s",
          "clock=+60s secondary at 5s for 10s", "kill all at 5s for 5s"]


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--assay", default="./assay")
    p.add_argument("--out", default="runs/bankfaults")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--clusters", default="mongodb:3,mongodb:2+arbiter,postgres:3,mariadb:3")
    p.add_argument("--duration", default="30s")
    p.add_argument("--only", default="")
    return p.parse_args()


def on(cluster, fault):
    """Galera has no primary: the first node, which the clients use, stands for it."""
    return fault.replace("primary", "n1").replace("secondary", "n2") if cluster.startswith("mariadb") else fault


def result_of(folder):
    try:
        with open(os.path.join(folder, "result.json")) as f:
            r = json.load(f)
    except (OSError, ValueError):
        return None
    return r if r["ended"] != r["started"] else None


def carry_out(a, cluster, fault):
    name = "".join(c if c.isalnum() else "-" for c in f"{cluster}-{fault}")
    folder = os.path.join(a.out, name)
    said = ""
    if result_of(folder) is None:
        done = subprocess.run([a.assay, "run", "bank", "--cluster", cluster, "--accounts", "10000", "--clients", "8", "--seed", "1",
                               "--duration", a.duration, "--timeout", "5s", "--fault", on(cluster, fault), "--out", folder, "--quiet"],
                              capture_output=True, text=True)
        said = (done.stdout + " " + done.stderr).strip().replace("\n", " ")
        print(f"{cluster} {fault}: exit {done.returncode}: {said[-200:]}", file=sys.stderr)
    return cluster, fault, result_of(folder), said


def row(cluster, fault, r, said):
    if r is None:
        return [on(cluster, fault), said[-120:] or "no result"] + [""] * 7
    acted = [f for f in r["faults"] if not f.get("skipped")]
    worst = max((f["write_outage_ms"] for f in acted), default=-1)
    o, bad = r["outcomes"], [c["name"] for c in r["checks"] if c["verdict"] != "valid"]
    return [on(cluster, fault), str(len(acted)), "yes" if acted and all(f["proven"] for f in acted) else "no",
            f"{worst / 1000:.1f} s" if worst >= 0 else "-", f"{o['committed']:,}", f"{o['failed']:,}", f"{o['unknown']:,}",
            r["verdict"] + (" (" + ", ".join(bad) + ")" if bad else ""), r["measurement"]["verdict"]]


HEAD = ["fault", "injected", "proven", "longest time without a commit", "committed", "failed", "unknown", "verdict", "measurement"]


def main():
    a = arguments()
    os.makedirs(a.out, exist_ok=True)
    clusters = a.clusters.split(",")
    plan = [(c, f) for c in clusters for f in FAULTS if a.only in f]
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        results = list(pool.map(lambda one: carry_out(a, *one), plan))
    for cluster in clusters:
        print(f"\n### `{cluster}`\n\n| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
        for c, fault, r, said in results:
            if c == cluster:
                print("| " + " | ".join(row(c, fault, r, said)) + " |")


main()
