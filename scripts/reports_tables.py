"""The tables and charts of reports.py, from results alone.

Each function takes {name: [result of each turn]} and a way to keep charts.
Where a run was done in several turns, the table has a figure or a row for each,
and a chart has their mean; that of entities has the first turn.
"""
import charts


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def figure(v, digits=3):
    """Three digits that count, whole numbers in full."""
    if v >= 100:
        return f"{v:,.0f}"
    return f"{v:.{digits}g}"


def ms(v):
    return f"{figure(v / 1000)} s" if v >= 1000 else f"{figure(v)} ms"


def each(results, get):
    return " / ".join(get(r) for r in results)


def mean(results, get):
    return sum(get(r) for r in results) / len(results)


def standing(r):
    return r["verdict"] + ("" if r["measurement"]["verdict"] == "valid" else ", figures invalid")


def product(r):
    d = r["database"]
    return f"{d['product']} {d['version'].split('-')[0].split(' ')[0]}"


def believable(results):
    return all(r["measurement"]["verdict"] == "valid" for r in results)


def bank(found, keep):
    """Tables 1 and 2 of the reports in one, a row for each run."""
    rows, curves, waits, invalid = [], {}, {}, set()
    for name, results in found.items():
        cluster, clients = name.split(" ")
        r = results[0]
        d = r["database"]
        memory = f"{d['ram_bytes_per_node'] / 2**30:.1f}" if d["ram_bytes_per_node"] else "-"
        rows.append([product(r), cluster, d["vcpu_per_node"] or "-", memory, d["replicas"] or "-", int(clients), d["nodes"],
                     r["data"]["rows"].get("account", 0) / 1e6, f"{r['outcomes']['committed'] / 1e6:.3f}",
                     each(results, lambda r: figure(r["throughput"]["committed_per_second"])),
                     each(results, lambda r: figure(r["latency"]["mean_ms"])), each(results, lambda r: figure(r["latency"]["max_ms"])),
                     each(results, lambda r: figure(r["latency"]["p99_ms"])), failed(r), each(results, standing)])
        rate, p99 = curves.setdefault(cluster, []), waits.setdefault(cluster, [])
        rate.append((int(clients), mean(results, lambda r: r["throughput"]["committed_per_second"])))
        p99.append((int(clients), mean(results, lambda r: r["latency"]["p99_ms"])))
        if not believable(results):
            invalid.add((cluster, int(clients)))
    rows.sort(key=lambda row: (row[1], row[5]))
    table(["No.", "vendor", "cluster", "vCPU/node", "RAM/node, GiB", "replicas", "clients", "nodes", "accounts, M", "transfers, M",
           "transactions/s", "mean, ms", "max, ms", "p99, ms", "failed attempts", "verdict"], [[i + 1, *row] for i, row in enumerate(rows)])
    keep("bank-rate", charts.lines("Bank transfers by clients", "clients", "committed a second", curves, log_x=True, invalid=invalid))
    keep("bank-p99", charts.lines("Response time by clients, 99th percentile", "clients", "milliseconds", waits, log_x=True, invalid=invalid))


def failed(r):
    """The share of attempts that did not commit, by the kind of most of them."""
    kinds = sorted(r["errors"], key=lambda e: -e["attempts"])
    if not kinds:
        return "none"
    share = 100 * sum(e["attempts"] for e in kinds) / r["retries"]["attempts"]
    return f"{share:.1f} %, {kinds[0]['class']}"


def bulkupdate(found, keep):
    rows, total, worst, invalid = [], {}, {}, set()
    for results in found.values():
        name = product(results[0])
        for turn, r in enumerate(results, 1):
            for x in r["rounds"]:
                t = x["service_time"]
                rows.append([name, x["clients"], turn, ms(x["seconds"] * 1000), ms(t["mean_ms"]), ms(t["p50_ms"]), ms(t["p99_ms"]), ms(t["max_ms"]), standing(r)])
        for i, x in enumerate(results[0]["rounds"]):
            clients = x["clients"]
            total.setdefault(name, []).append((clients, mean(results, lambda r, i=i: r["rounds"][i]["seconds"])))
            for key in ("mean", "p95"):
                took = mean(results, lambda r, i=i, key=key: r["rounds"][i]["service_time"][key + "_ms"]) / 1000
                worst.setdefault(f"{name}, {key}", []).append((clients, took))
            if not believable(results):
                invalid |= {(name + part, clients) for part in ("", ", mean", ", p95")}
    table(["", "workers", "turn", "all 1,000 tasks", "mean", "p50", "p99", "max", "verdict"], rows)
    keep("bulkupdate-total", charts.lines("Bulk updates: time of all 1,000 tasks", "workers", "seconds", total, invalid=known(invalid, total)))
    keep("bulkupdate-task", charts.lines("Bulk updates: time of one task", "workers", "seconds", worst, invalid=known(invalid, worst)))


def known(points, series):
    """The points (name, x) whose name is one of the series."""
    return {(name, x) for name, x in points if name in series}


def entity(found, keep):
    rows, over_time, invalid = [], {}, set()
    for what, results in found.items():
        side = "writes" if "writes" in what else "reads"

        def one(r, key, side=side):
            return r["entity"][side][key]

        rows.append([what, each(results, lambda r: figure(one(r, "committed_per_second"))), each(results, lambda r: figure(one(r, "max_per_second"))),
                     each(results, lambda r: ms(one(r, "mean_ms"))), each(results, lambda r: ms(one(r, "p99_ms"))), each(results, lambda r: ms(one(r, "longest_ms"))),
                     each(results, with_all), each(results, degradation), each(results, standing)])
        over_time[what] = by_second(results[0])
        if not believable(results[:1]):
            invalid.add((what, 0))
    table(["", "a second, mean", "best second", "mean", "p99", "longest", "with all clients", "degradation", "verdict"], rows)
    for side in ("writes", "reads"):
        some = {k: v for k, v in over_time.items() if side in k}
        if some:
            marks = list(range(0, int(max(v[-1][0] for v in some.values())) + 1, 15))
            keep(f"entity-{side}", charts.lines(f"Entities, {side} a second", "seconds", side + " a second", some, marks_x=marks, dots=False,
                                                 invalid=known(invalid, some)))


def degradation(r):
    at = r["series"].get("degradation_s")
    return "-" if at is None else f"{at:.0f} s"


def with_all(r):
    """What was committed a second once all clients had started."""
    first = (r["load"]["clients"] - 1) / r["load"]["ramp_clients_per_second"]
    places = [n for t, n in by_second(r) if t >= first]
    return figure(sum(places) / len(places)) if places else "-"


def by_second(r):
    """The committed operations of each whole second."""
    s = r["series"]
    sums = {}
    for at, n in zip(s["start_s"], s["committed"]):
        sums[int(at + 1e-9)] = sums.get(int(at + 1e-9), 0) + n
    last = int(s["measure_end_s"])
    return [(t, n) for t, n in sorted(sums.items()) if t < last]


def number(text):
    return float(text.replace(",", "").split(" ")[0])


def candles(found, keep):
    size_rows, ask_rows, sizes, quick = [], [], {}, {}
    amounts = [loaded(r) for results in found.values() for r in results if loaded(r)]
    usual = max(set(amounts), key=amounts.count, default=0)
    for what, results in found.items():
        for turn, r in enumerate(results, 1):
            if not loaded(r):
                size_rows.append([what, turn, "no result: " + standing(r)])
                continue
            size_rows.append([what, turn, *size_cells(r)])
            ask_rows.append([what, turn, *ask_cells(r)])
        if any(loaded(r) != usual for r in results):
            continue  # a bar of fewer candles is no comparison
        name = what if believable(results) else what + " (invalid)"
        sizes[name] = [mean(results, lambda r: r["data"]["tables_bytes"]) / 1e6, mean(results, lambda r: r["data"]["indexes_bytes"]) / 1e6]
        quick[name] = [mean(results, lambda r: by_name(r)["quick, warm"]["service_time"]["mean_ms"]) * 1000]
    table(["engine", "turn", "candles", "written/s", "server CPU", "data MB", "indexes MB", "raw / data", "raw / all", "verdict"], size_rows)
    table(["engine", "turn", "quick, cold", "quick, warm", "interval, cold", "interval, warm", "day, cold", "day, warm", "server CPU, quick, warm"], ask_rows)
    if sizes:
        keep("candles-size", charts.bars(f"Size on disk, {usual:,} candles", "megabytes", sizes, ["data", "indexes"]))
        keep("candles-quick", charts.bars(f"Quick query, warm, mean, {usual:,} candles", "microseconds", quick, ["mean"]))


def by_name(r):
    return {x["name"]: x for x in r["rounds"]}


def size_cells(r):
    """What was written, what it took, and what it takes on disk."""
    rounds, d = by_name(r), r["data"]
    raw = number(fact(rounds["day, warm"], "bytes"))
    return [figure(loaded(r)), figure(rate(r)), fact(rounds["ingest"], "server CPU", "-"), f"{d['tables_bytes'] / 1e6:,.0f}",
            f"{d['indexes_bytes'] / 1e6:,.0f}", f"{raw / d['tables_bytes']:.2f}", f"{raw / d['bytes']:.2f}", standing(r)]


def ask_cells(r):
    """Mean and 99th percentile of each round of queries, in microseconds."""
    rounds, cells = by_name(r), []
    for kind in ("quick", "interval", "day"):
        for state in ("cold", "first", "warm"):
            if f"{kind}, {state}" in rounds:
                t = rounds[f"{kind}, {state}"]["service_time"]
                cells.append(f"{t['mean_ms'] * 1000:,.0f} / {t['p99_ms'] * 1000:,.0f}" if kind != "day" else f"{t['mean_ms'] * 1000:,.0f}")
    warm = rounds["quick, warm"]
    used = fact(warm, "server CPU", "")
    return [*cells, f"{number(used) * 1e6 / warm['outcomes']['committed']:,.0f}" if used else "-"]


def loaded(r):
    """How many candles a result has, 0 if it ended before they were there."""
    rounds = r.get("rounds") or []
    return int(number(fact(rounds[0], "rows"))) if rounds and "data" in r else 0


def fact(x, name, other="0"):
    return next((f["value"] for f in x.get("facts") or [] if f["name"] == name), other)


def rate(r):
    return number(fact(r["rounds"][0], "rows/s"))


def churn(found, keep):
    head, rows, curves, invalid = [], [], {}, set()
    for results in found.values():
        sizes = []
        for turn, r in enumerate(results, 1):
            on_disk = [(x["name"], number(fact(x, "bytes on disk")) / 1e6, x["seconds"]) for x in r["rounds"]]
            steps = [x for x in on_disk if x[0].split(" ")[0] in ("fill", "delete", "refill")]
            repairs = [f"{name} {size:,.1f}, in {ms(took * 1000)}" for name, size, took in on_disk[len(steps):]]
            head = [name for name, _, _ in steps]
            rows.append([product(r), turn, *(f"{size:,.1f}" for _, size, _ in steps), "; ".join(repairs), standing(r)])
            sizes.append([size for _, size, _ in [*steps, on_disk[-1]]])
        name = product(results[0])
        curves[name] = [(i, sum(at) / len(at)) for i, at in enumerate(zip(*sizes), 1)]
        if not believable(results):
            invalid |= {(name, x) for x, _ in curves[name]}
    table(["", "turn", *head, "repair", "verdict"], rows)
    words = dict(enumerate([*head, "last repair"], 1))
    keep("churn", charts.lines("Megabytes on disk after each round", "", "megabytes", curves, marks_x=words, invalid=invalid))
