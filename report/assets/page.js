"use strict";
// Puts a button below each table of figures that copies it as Markdown, and says below a
// chart what its table has of the moment under the pointer. Where this does not run, there
// is neither, and nothing is missing. It reads the page's own cells and asks for nothing else.
(function () {
  // What a cell holds must stand as it is where the text goes, and be neither markup nor
  // a link nor a mention.
  const escape = (text) => text
    .replace(/\s+/g, " ").replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd").trim()
    .replace(/[\\`*_|[\]~$]/g, "\\$&")
    .replace(/[<>&#@]/g, (c) => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;" }[c] || "&#" + c.charCodeAt(0) + ";"));
  const text = (cell) => escape(cell.querySelector(".unseen") ? "" : cell.textContent);
  const row = (cells) => "| " + cells.join(" | ") + " |\n";

  function markdown(table) {
    const heads = [...table.tHead.rows[0].cells];
    const rule = heads.map((h, i) => (i === 0 || h.classList.contains("words") ? "---" : "--:"));
    // The title of a group of rows is one cell across all columns.
    const title = (cell) => "| **" + text(cell) + "** " + "| ".repeat(heads.length - 1) + "|\n";
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]).map((r) =>
      r.cells.length < heads.length ? title(r.cells[0]) : row([...r.cells].map(text)));
    return row(heads.map(text)) + "|" + rule.join("|") + "|\n" + rows.join("");
  }

  // The clipboard's own interface is not there in pages from elsewhere without encryption,
  // nor in those that are shown apart; a copy that the reader asked for is.
  async function copy(what) {
    try {
      await navigator.clipboard.writeText(what);
      return true;
    } catch (refused) {
      const area = document.createElement("textarea");
      area.value = what;
      area.className = "unseen";
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  for (const table of document.querySelectorAll(".scroll > table")) {
    const button = document.createElement("button"), state = document.createElement("span");
    const title = table.caption ? table.caption.textContent.trim() : "";
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy as Markdown";
    if (title) button.setAttribute("aria-label", "Copy as Markdown: " + title);
    state.setAttribute("role", "status");
    button.addEventListener("click", async () => {
      const done = await copy(markdown(table));
      button.focus();
      state.textContent = done ? "Copied" : "The browser does not allow it";
    });
    table.parentElement.after(button, state);
  }

  // Charts over the time of one run have one axis, and are pointed at together.
  const charts = [...document.querySelectorAll("figure.lines:not(.bars)")].flatMap((figure) => {
    const shared = figure.dataset.figures, fold = shared ? document.getElementById(shared) : figure.nextElementSibling;
    if (!fold || !fold.dataset.rows) return [];
    return {
      shared, svg: figure.querySelector("svg"), line: figure.querySelector(".pointed"), cells: figure.querySelectorAll("[data-column]"),
      levels: figure.dataset.levels, places: fold.dataset.rows.split(" ").map(Number), rows: fold.querySelector("tbody").rows,
    };
  });
  function point(chart, at) {
    for (const end of ["x1", "x2"]) chart.line.setAttribute(end, at < 0 ? -9 : chart.places[at]);
    for (const cell of chart.cells) cell.querySelector("b").textContent = at < 0 ? "" : chart.rows[at].cells[cell.dataset.column].textContent;
  }
  function nearest(chart, x) {
    const after = chart.places.findIndex((place) => place > x);
    if (after < 1) return after < 0 ? chart.places.length - 1 : 0;
    return chart.levels || x - chart.places[after - 1] < chart.places[after] - x ? after - 1 : after;
  }
  for (const chart of charts) {
    const together = charts.filter((other) => other === chart || other.shared && chart.shared);
    const pointed = (event) => {
      const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.svg.getScreenCTM().inverse()).x;
      for (const other of together) point(other, nearest(other, x));
    };
    chart.svg.addEventListener("pointermove", pointed);
    chart.svg.addEventListener("pointerdown", pointed);
    chart.svg.addEventListener("pointerleave", () => together.forEach((other) => point(other, -1)));
  }
})();
