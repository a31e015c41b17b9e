"use strict";
// Draws the charts of the report. Everything it draws also stands in a table
// of the page, so the page is whole where this does not run.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const charts = [];
  const end = data.end || (data.sizes ? data.sizes.at[data.sizes.at.length - 1] : 0);

  const color = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();

  // Three significant digits, in the unit that reads best.
  function millis(ms) {
    if (ms == null) return "-";
    if (ms < 1) return +(ms * 1000).toPrecision(3) + " µs";
    if (ms < 1000) return +ms.toPrecision(3) + " ms";
    return +(ms / 1000).toPrecision(3) + " s";
  }
  function rate(n) {
    if (n == null) return "-";
    return n.toLocaleString("en-US", { maximumFractionDigits: n < 100 ? 1 : 0 });
  }
  function bytes(n) {
    if (n == null) return "-";
    const units = ["B", "kB", "MB", "GB", "TB"];
    let i = 0;
    for (; Math.abs(n) >= 1000 && i < units.length - 1; i++) n /= 1000;
    return +n.toPrecision(3) + " " + units[i];
  }
  function clock(s) {
    if (s == null) return "-";
    if (end <= 300) return +s.toFixed(2) + " s";
    const parts = [Math.floor(s / 3600), Math.floor(s / 60) % 60, Math.floor(s % 60)];
    if (end < 3600) parts.shift();
    return parts.map((n, i) => (i ? String(n).padStart(2, "0") : n)).join(":");
  }
  function percentile(x) {
    if (x == null) return "-";
    const digits = Math.max(0, Math.ceil(x - 1e-9) - (Number.isInteger(x) ? 2 : 1));
    return (100 - 100 * Math.pow(10, -x)).toFixed(digits) + " %";
  }

  function axis(values, extra) {
    return Object.assign({
      stroke: color("quiet"), font: "12px system-ui, sans-serif",
      grid: { stroke: color("grid"), width: 1 }, ticks: { stroke: color("line"), width: 1 },
      values: (u, splits) => splits.map((v) => (v == null || v < 0 ? "" : values(v))),
    }, extra);
  }
  // Steps of a time axis, in seconds: those that a clock shows.
  const steps = [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    86400, 172800, 604800, 2592000];
  const upright = (values, label) => axis(values, named(label, { size: 68 }));
  const across = (values, label, extra) => axis(values, named(label, Object.assign({ size: 34 }, extra)));
  const named = (label, extra) => Object.assign({ label, labelFont: "12px system-ui, sans-serif", labelSize: 18 }, extra);
  // On a logarithmic scale the powers of ten get a line, and 2 and 5 between
  // them if it is short.
  function logarithmic(values, label) {
    const lines = (u, splits) => {
      const { min, max } = u.scales.y;
      const steps = max / Math.max(min, 1e-3) < 200 || (min <= 0 && max < 200) ? [1, 2, 5] : [1];
      return splits.map((v) => {
        if (v == null || v <= 0) return v === 0 ? v : null;
        const step = v / Math.pow(10, Math.floor(Math.log10(v) + 1e-9));
        return steps.includes(Math.round(step)) ? v : null;
      });
    };
    const a = upright(values, label);
    a.filter = a.grid.filter = a.ticks.filter = lines;
    return a;
  }

  // Lines differ by their dashes too, for who cannot tell the colors apart.
  const dashes = [[], [8, 3], [3, 3], [10, 3, 2, 3]];
  // It names the lines. What the pointer is on is added while it is there.
  const legend = { markers: { width: 3, dash: (u, i) => ["solid", "dashed", "dotted", "double"][(i - 1) % 4] } };
  function line(name, i, values, extra) {
    return Object.assign({
      label: name, stroke: color(name), width: data.start.length > 400 ? 1 : 2, dash: dashes[i % dashes.length],
      value: (u, v, i, at) => (at == null ? "" : values(v)), points: { show: false },
    }, extra);
  }

  // Parts of the run are shaded behind the lines and named above them.
  function spans() {
    const list = [];
    if (data.from > 0) list.push({ from: 0, to: data.from, name: "warm-up", fill: color("warm") });
    if (data.to < end) list.push({ from: data.to, to: end, name: "", fill: color("warm") });
    list.push({ from: data.from, to: data.to, name: "measured" });
    for (const f of data.faults) {
      list.push({ from: f.from, to: f.to || end, name: f.name, fill: color("fault"), edge: color("fault-edge") });
    }
    if (data.fall != null) {
      list.push({ from: data.fall, to: end, name: "degradation", edge: color("fault-edge") });
    }
    return list;
  }
  const shade = (spans) => (u) => {
    const ctx = u.ctx, box = u.bbox;
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.left, box.top, box.width, box.height);
    ctx.clip();
    for (const s of spans) {
      const left = u.valToPos(s.from, "x", true), right = u.valToPos(s.to, "x", true);
      if (s.fill) {
        ctx.fillStyle = s.fill;
        ctx.fillRect(left, box.top, Math.max(right - left, 2), box.height);
      }
      ctx.strokeStyle = s.edge || color("quiet");
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash(s.edge ? [] : [4 * devicePixelRatio, 4 * devicePixelRatio]);
      const edges = s.fill && !s.edge ? [] : s.fill || !s.edge ? [left, right] : [left];
      for (const x of edges) {
        ctx.beginPath();
        const sharp = Math.round(x) + 0.5;
        ctx.moveTo(sharp, box.top);
        ctx.lineTo(sharp, box.top + box.height);
        ctx.stroke();
      }
    }
    ctx.restore();
  };
  // Names stand above the plot: those of the phases next to it, those of the
  // faults above in two rows, so that faults that are close do not collide.
  const names = (spans) => (u) => {
    const ctx = u.ctx, box = u.bbox, height = 15 * devicePixelRatio;
    const rows = [-Infinity, -Infinity, -Infinity];
    ctx.save();
    ctx.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    for (const s of spans) {
      const left = Math.max(u.valToPos(s.from, "x", true), box.left);
      const right = Math.min(u.valToPos(s.to, "x", true), box.left + box.width);
      if (!s.name || right <= left) continue;
      const width = ctx.measureText(s.name).width;
      let row = s.edge ? 1 : 0;
      if (s.edge && rows[1] > left) row = 2;
      if (rows[row] > left) continue;
      let x = Math.min(left, box.left + box.width - width);
      if (!s.edge && width > right - left) continue;
      ctx.fillStyle = s.edge || color("quiet");
      ctx.fillText(s.name, x, box.top - height * (row + 0.7));
      rows[row] = x + width + 8 * devicePixelRatio;
    }
    ctx.restore();
  };

  function height(place) {
    return place.classList.contains("low") ? 220 : window.innerWidth < 560 ? 240 : 300;
  }

  function draw(id, options, columns) {
    const place = document.getElementById(id);
    if (!place || !columns[0].length) return;
    options.width = place.clientWidth;
    options.height = height(place);
    options.legend = legend;
    const live = (u) => u.root.classList.toggle("live", u.cursor.idx != null && u.cursor.left >= 0);
    options.hooks = Object.assign({ setCursor: [live] }, options.hooks);
    const plot = new uPlot(options, columns, place);
    plot.root.classList.toggle("single", columns.length === 2);
    charts.push({ place, plot });
  }

  // Each interval is drawn from its start to just before the next one: a line that
  // goes on at the next point would leave out the interval before a gap.
  const edges = data.start.flatMap((from, i) => {
    const to = Math.min(data.start[i + 1] ?? end, end);
    return [from, from + (to - from) * (1 - 1e-6)];
  });
  const level = (values) => values.flatMap((v) => [v, v]);
  // within finds the interval that the pointer is in, not the nearest start.
  function within(u, series, nearest, x) {
    const i = edges[nearest] <= x ? nearest : nearest - 1;
    return Math.min(Math.max(i - (i % 2), 0), edges.length - 2);
  }

  function overTime(id, series, columns, scale, values, label) {
    const parts = spans();
    const top = data.faults.length || data.fall != null ? 52 : 24;
    draw(id, {
      padding: [top, 12, 0, 0],
      cursor: { sync: { key: "time" }, drag: { x: true, y: false }, dataIdx: within },
      scales: { x: { time: false }, y: scale },
      axes: [across(clock, "time since the start of the run", { incrs: steps }),
        scale.distr ? logarithmic(values, label) : upright(values, label)],
      series: [{ label: "from", value: (u, v, i, at) => (at == null ? "" : clock(v)) }].concat(series),
      hooks: { drawAxes: [shade(parts)], draw: [names(parts)] },
    }, [edges].concat(columns.map(level)));
  }

  function drawTimes() {
    // The run may end within its last interval.
    const perSecond = (c) => c.values.map((n, i) => n / Math.min(data.interval, end - data.start[i]));
    const fromZero = (u, min, max) => [0, Math.max(max, 1) * 1.06];
    overTime("committed",
      [line("committed", 0, rate, { fill: color("committed") + "22" })],
      [perSecond(data.counts[0])], { range: fromZero }, rate, "operations/s");
    // Many rejected operations must not hide one that is unknown: the scale is
    // linear below one and logarithmic above.
    overTime("uncommitted",
      data.counts.slice(1).map((c, i) => line(c.name, i, rate)),
      data.counts.slice(1).map(perSecond), { distr: 4, asinh: 1, range: fromZero }, rate, "operations/s");
    if (data.times.length) overTime("times",
      data.times.map((t, i) => line(t.name, i, millis)),
      data.times.map((t) => t.values.map((ms) => (ms < 0 ? null : Math.max(ms, 0.001)))),
      { distr: 3 }, millis, "response time");
  }

  // drawCurve spreads the percentiles so that each further nine takes the same
  // room. The longest time stands where one operation of all is slower.
  function drawCurve() {
    const tables = data.curves.map((c) => {
      const xs = [], ys = [];
      for (const [q, ms] of c.points) {
        const x = q < 1 ? -Math.log10(1 - q) : Math.log10(Math.max(c.count, 1));
        if (xs.length && x <= xs[xs.length - 1]) continue;
        xs.push(x);
        ys.push(Math.max(ms, 0.001));
      }
      return [xs, ys];
    });
    if (!tables.length) return;
    draw("curve", {
      padding: [12, 20, 0, 0],
      cursor: { drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { distr: 3 } },
      axes: [
        across(percentile, "share of the operations that took at most as long", {
          splits: (u, i, min, max) => [0, 0.30103, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].filter((x) => x >= min && x <= max),
        }),
        logarithmic(millis, "time"),
      ],
      series: [{ label: "percentile", value: (u, v, i, at) => (at == null ? "" : percentile(v)) }].concat(
        data.curves.map((c, i) => line(c.name, i, millis, { spanGaps: true }))),
    }, uPlot.join(tables));
  }

  // drawSizes joins the sizes that were asked for after each round; the rounds'
  // ends are marked.
  function drawSizes() {
    const sizes = data.sizes;
    if (!sizes) return;
    draw("sizes", {
      padding: [24, 20, 0, 0],
      cursor: { drag: { x: true, y: false } },
      scales: { x: { time: false, range: (u, min, max) => [0, max] }, y: { range: (u, min, max) => [0, Math.max(max, 1) * 1.06] } },
      axes: [across(clock, "time since the start of the run", { incrs: steps }), upright(bytes, "size")],
      series: [{ label: "after", value: (u, v, i, at) => (at == null ? "" : sizes.rounds[at] + " (" + clock(v) + ")") },
        line("disk", 0, bytes, { label: "on disk", points: { show: true, size: 7 } }),
        line("payload", 1, bytes, { points: { show: true, size: 7 } })],
    }, [sizes.at, sizes.disk, sizes.payload]);
  }

  // drawServers draws what was seen at looks at the servers. The time axis is that of
  // the charts of the run, also where the first or the last look is missing.
  function drawServers() {
    const of = data.servers;
    if (!of) return;
    const share = (v) => (v == null ? "-" : +(100 * v).toPrecision(3) + " %");
    const number = (v) => (v == null ? "-" : v !== 0 && Math.abs(v) < 0.01 ? v.toPrecision(2) : rate(v));
    const form = { share, bytes, "bytes/s": (v) => (v == null ? "-" : bytes(v) + "/s"), s: (v) => millis(v == null ? v : v * 1000) };
    const whole = (values) => [null].concat(values, [null]);
    const at = [Math.min(0, of.at[0])].concat(of.at, [Math.max(end, of.at[of.at.length - 1])]);
    const parts = spans();
    const top = data.faults.length || data.fall != null ? 52 : 24;
    of.charts.forEach((c, i) => {
      const values = form[c.unit] || number;
      draw("servers-" + i, {
        padding: [top, 12, 0, 0],
        cursor: { sync: { key: "time" }, drag: { x: true, y: false } },
        scales: { x: { time: false }, y: { range: (u, min, max) => [0, (max > 0 ? max : 1) * 1.06] } },
        axes: [across(clock, "time since the start of the run", { incrs: steps }), upright(values, { share: "in use", "/s": "per second" }[c.unit] || c.unit || "number")],
        series: [{ label: "until", value: (u, v, i, at) => (at == null ? "" : clock(v)) }].concat(
          c.lines.map((l, n) => line("line-" + (1 + n % 6), n, values, { label: l.name, width: 2 }))),
        hooks: { drawAxes: [shade(parts)], draw: [names(parts)] },
      }, [at].concat(c.lines.map((l) => whole(l.values))));
    });
  }

  function redraw() {
    for (const c of charts.splice(0)) c.plot.destroy();
    root.classList.add("drawn");
    drawSizes();
    drawTimes();
    drawServers();
    drawCurve();
  }
  function resize() {
    for (const c of charts) c.plot.setSize({ width: c.place.clientWidth, height: height(c.place) });
  }

  redraw();
  window.addEventListener("resize", resize);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // Paper is white and narrower than the window.
  window.addEventListener("beforeprint", () => {
    root.classList.add("paper");
    redraw();
    for (const c of charts) c.plot.setSize({ width: Math.min(c.place.clientWidth, 680), height: 260 });
  });
  window.addEventListener("afterprint", () => {
    root.classList.remove("paper");
    redraw();
  });
})();
