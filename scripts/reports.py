#!/usr/bin/env python3
"""Does the experiments of docs/results.md and prints their tables.

usage: scripts/reports.py EXPERIMENT... [--assay PROGRAM] [--out FOLDER]
                          [--charts FOLDER] [--tables-only] [--commands]

EXPERIMENT is bank, bulkupdate, entity, rest, candles, memory or churn. Each run
is an assay command with a folder of its own below FOLDER; a run whose result is
there already is not done again. --commands prints the commands and does
nothing. Tables and charts are made from the result.json files alone.
"""
import argparse
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time

import reports_tables

SEED = "11"
WORKERS = "1,2,5,10,15,20,25,30"
CLIENTS = [16, 64, 256, 512]
BRIEF = ["--clients", "100", "--ramp", "10/s", "--warmup", "15s", "--duration", "30s"]
RAMP = ["--clients", "100", "--ramp", "1/s", "--warmup", "15s", "--duration", "2m"]


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("experiments", nargs="+", choices=sorted(EXPERIMENTS))
    p.add_argument("--assay", default="./assay")
    p.add_argument("--out", default="runs/reports")
    p.add_argument("--charts", default="docs/charts")
    p.add_argument("--tables-only", action="store_true", help="make the tables of the results that are there")
    p.add_argument("--commands", action="store_true", help="print the commands and do nothing")
    p.add_argument("--repeat", type=int, default=1, help="how often each run is done, in turns")
    return p.parse_args()


# Runs: {name: the command's words}. A run named "... over rest" goes through
# `assay serve` in front of the cluster that its first word names.

def bank_runs():
    runs = {}
    for clients in CLIENTS:
        for cluster in ("mongodb:3", "mongodb:2+arbiter", "postgres:2"):
            runs[f"{cluster} {clients}"] = ["bank", "--cluster", cluster, "--clients", str(clients), "--accounts", "100000",
                                            "--warmup", "3s", "--duration", "12s", "--connect-timeout", "30s"]
    return runs


def bulkupdate_runs():
    return {c: ["bulkupdate", "--cluster", c, "--users", "1000", "--documents", "5000", "--workers", WORKERS, "--timeout", "5m"]
            for c in ("mariadb:1", "postgres:1", "mongodb:1")}


def entity_runs():
    runs = {}
    for share, what in (("1", "writes"), ("0", "reads")):
        for product, words in (("MongoDB", ["--cluster", "mongodb:2+arbiter", "--option", "w=1"]),
                               ("Cassandra", ["--cluster", "cassandra:3", "--option", "consistency=one"])):
            runs[f"{product} {what}"] = ["entity", *words, *RAMP, "--write-share", share, "--entities", "20000"]
    return runs


def rest_runs():
    runs = {}
    for share, what in (("1", "writes"), ("0", "reads")):
        for product, cluster, option in (("MongoDB", "mongodb:2+arbiter", "w=1"), ("Cassandra", "cassandra:3", "consistency=one")):
            runs[f"{product} {what} over rest"] = [cluster, option, "entity", *BRIEF, "--write-share", share, "--entities", "20000"]
    return runs


ENGINES = {
    "SQLite": [], "MongoDB none": ["mongodb:1", "none"], "MongoDB snappy": ["mongodb:1", "snappy"],
    "MongoDB zlib": ["mongodb:1", "zlib"], "MongoDB zstd": ["mongodb:1", "zstd"],
    "MariaDB InnoDB": ["mariadb:1", "InnoDB"], "MariaDB InnoDB-compressed": ["mariadb:1", "InnoDB-compressed"],
    "MariaDB MyRocks": ["mariadb:1,engines=innodb+rocksdb", "rocksdb"], "PostgreSQL": ["postgres:1", "pglz"],
    "Cassandra lz4": ["cassandra:1", "lz4"],
}


# Caches in which all data has room, the same for all who let assay choose.
ROOMY = {"mongodb": ",cache=2GiB", "mariadb": ",cache=2GiB", "postgres": ",shared_buffers=2GiB"}


def candles_runs(limit=None, engines=ENGINES):
    runs = {}
    for name in engines:
        words = ["candles", "--cold"]
        if ENGINES[name]:
            cluster, engine = ENGINES[name]
            if cluster.startswith("cassandra"):
                words += ["--candles", "400000", "--queries", "2000"]  # single inserts take their time
            words += ["--cluster", cluster + (limit or ROOMY.get(cluster.split(":")[0], "")), "--engine", engine]
        runs[name] = words
    return runs


def memory_runs():
    engines = ("MongoDB none", "MongoDB zstd", "MariaDB InnoDB", "MariaDB MyRocks", "PostgreSQL")
    return {f"{name}, 512 MiB": words + ["--queries", "1000"] for name, words in candles_runs(",memory=512MiB", engines).items()}


def churn_runs():
    runs = {c: ["churn", "--cluster", c, "--rows", "200000", "--timeout", "5m"] for c in ("postgres:1", "mongodb:1", "mariadb:1")}
    return {"sqlite": ["churn", "--rows", "200000", "--timeout", "5m"], **runs}


def folder_of(a, experiment, name, turn):
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()
    return os.path.join(a.out, experiment, plain + (f"-{turn + 1}" if turn else ""))


def result_in(folder):
    try:
        with open(os.path.join(folder, "result.json")) as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def carry_out(a, name, words, folder):
    if name.endswith("over rest"):
        return over_rest(a, words, folder)
    command = [a.assay, "run", *words, "--seed", SEED, "--out", folder, "--quiet"]
    if a.commands:
        print(shlex.join(command))
        return
    done = subprocess.run(command, capture_output=True, text=True)
    print(f"{name}: exit {done.returncode}: {(done.stdout or done.stderr).strip()[-200:]}", file=sys.stderr, flush=True)


def over_rest(a, words, folder):
    cluster, option, *rest = words
    run = [a.assay, "run", *rest, "--db", "http://127.0.0.1:8080", "--seed", SEED, "--out", folder, "--quiet"]
    if a.commands:
        print(f"{a.assay} cluster up {cluster}\n{a.assay} serve --db ADDRESS --allow-reset --sessions 100   # ADDRESS with {option}")
        print(shlex.join(run))
        return
    up = subprocess.run([a.assay, "cluster", "up", cluster], capture_output=True, text=True, check=True).stdout
    name = re.search(r"id (\w+)", up).group(1)
    try:
        address = re.search(r"address +(\S+)", up).group(1)
        address += ("&" if "?" in address else "?") + option
        service = subprocess.Popen([a.assay, "serve", "--db", address, "--allow-reset", "--sessions", "100"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            listening()
            done = subprocess.run(run, capture_output=True, text=True)
            print(f"{folder}: exit {done.returncode}: {(done.stdout or done.stderr).strip()[-200:]}", file=sys.stderr, flush=True)
        finally:
            service.send_signal(signal.SIGINT)
            service.wait()
    finally:
        subprocess.run([a.assay, "cluster", "down", name], capture_output=True)


def listening(patience=60):
    """Returns when the service takes connections, or when patience is over."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", 8080), 1).close()
            return
        except OSError:
            time.sleep(0.2)


def no_chart(_name, _text):
    """Of tables that are read beside others, whose chart is enough."""


EXPERIMENTS = {
    "bank": (bank_runs, reports_tables.bank),
    "bulkupdate": (bulkupdate_runs, reports_tables.bulkupdate),
    "entity": (entity_runs, reports_tables.entity),
    "rest": (rest_runs, lambda found, keep: reports_tables.entity(found, no_chart)),
    "candles": (candles_runs, reports_tables.candles),
    "memory": (memory_runs, lambda found, keep: reports_tables.candles(found, no_chart)),
    "churn": (churn_runs, reports_tables.churn),
}


def main():
    a = arguments()

    def keep(name, text):
        os.makedirs(a.charts, exist_ok=True)
        with open(os.path.join(a.charts, name + ".svg"), "w") as f:
            f.write(text)

    for experiment in a.experiments:
        make, tell = EXPERIMENTS[experiment]
        found = {}
        for turn in range(a.repeat):
            for name, words in make().items():
                folder = folder_of(a, experiment, name, turn)
                if not a.tables_only and (a.commands or result_in(folder) is None):
                    carry_out(a, name, words, folder)
                r = result_in(folder)
                if r is not None:
                    found.setdefault(name, []).append(r)
        if not a.commands:
            print(f"### {experiment}\n")
            tell(found, keep)


if __name__ == "__main__":
    main()
