"use strict";
// Puts a button below each table of figures that copies it as Markdown. Where this does
// not run there is no button. It reads the page's own cells and asks for nothing else.
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
})();
