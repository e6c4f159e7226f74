// The kit's one script. Every page works without it: it adds and removes rows in place, moves the focus, sums, pastes from a
// spreadsheet, keeps one press to one act, and says in words what it did. Listeners stand on the document, so a thousand rows
// cost what one does.
"use strict";
(() => {
  const LAST_ROW = 9999;
  const live = document.getElementById("live");
  const say = (words) => {
    if (!live) return;
    live.textContent = "";
    setTimeout(() => { live.textContent = words; }, 50);
  };
  const inputs = (within) => [...within.querySelectorAll("input:not([type=hidden]), select, textarea")];
  const firstInput = (row) => row.querySelector(":scope > tr > td > :is(input:not([type=hidden]), select, textarea)") || inputs(row)[0];
  const rowsOf = (grid) => [...grid.children].filter((each) => each.matches("tbody.row"));
  const gridOf = (cell) => cell.closest("table.grid");

  // ── One press, one act ──────────────────────────────────────────────────

  const again = (form) => {
    delete form.dataset.sent;
    for (const button of form.querySelectorAll("button[aria-disabled]")) button.removeAttribute("aria-disabled");
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented) return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "1";
    for (const button of form.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
    say("Sending");
    setTimeout(() => again(form), 10000);  // a page that never came may be asked for again
  });

  window.addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach(again));

  // ── Rows ────────────────────────────────────────────────────────────────

  const blankFor = (grid) => {
    const path = grid.dataset.grid;
    const form = grid.closest("form");
    const kept = [...form.querySelectorAll(":scope > template[data-blank]")];
    return kept.find((each) => each.dataset.blank === path)
      || kept.find((each) => each.dataset.blank === path.replace(/\[\d+\]/g, "[]"));
  };

  const nextNumber = (grid) => {
    const next = Number(grid.dataset.next);
    if (next <= LAST_ROW) return next;
    const taken = new Set(rowsOf(grid).map((row) => Number(/\[(\d+)\]$/.exec(row.dataset.row)[1])));
    for (let number = 0; number <= LAST_ROW; number += 1) if (!taken.has(number)) return number;
    return null;
  };

  const addRow = (grid) => {
    const blank = blankFor(grid);
    const number = blank && nextNumber(grid);
    if (!blank || number === null) return null;
    const numbers = [...grid.dataset.grid.matchAll(/\[(\d+)\]/g)].map((found) => Number(found[1]));
    let html = blank.innerHTML;
    [...numbers, number].forEach((each, depth) => {
      html = html.replaceAll(`@row${depth}@`, String(each)).replaceAll(`@number${depth}@`, String(each + 1));
    });
    const made = document.createElement("template");
    made.innerHTML = html;
    const row = made.content.querySelector("tbody.row");
    const rows = rowsOf(grid);
    const after = rows.length ? rows[rows.length - 1] : grid.tHead;
    after.after(row);
    grid.dataset.next = String(Math.max(Number(grid.dataset.next), number + 1));
    inZone(row);
    counted(grid);
    return row;
  };

  const removeRow = (row) => {
    const grid = row.parentElement;
    const beside = row.nextElementSibling?.matches("tbody.row") ? row.nextElementSibling
      : row.previousElementSibling?.matches("tbody.row") ? row.previousElementSibling : null;
    const number = Number(/\[(\d+)\]$/.exec(row.dataset.row)[1]) + 1;
    row.remove();
    counted(grid);
    const to = beside ? firstInput(beside)
      : grid.closest("form").querySelector(`button[name="meridian.add"][value="${CSS.escape(grid.dataset.grid)}"]`);
    to?.focus();
    say(`Row ${number} removed`);
    sumSoon(grid.closest("form"));
  };

  const counted = (grid) => {
    const count = grid.closest("details.nested")?.querySelector(":scope > summary > .count");
    if (count) count.textContent = String(rowsOf(grid).length);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button[name^='meridian.']");
    if (!button || button.closest("form")?.dataset.sent) return;
    if (button.name === "meridian.remove" && button.closest("tbody.row")?.dataset.row === button.value) {
      event.preventDefault();
      removeRow(button.closest("tbody.row"));
    } else if (button.name === "meridian.add") {
      const grid = [...button.closest("form").querySelectorAll("table.grid")].find((each) => each.dataset.grid === button.value);
      const row = grid && addRow(grid);
      if (!row) return;  // a dict, or a list that is full: the server answers
      event.preventDefault();
      firstInput(row)?.focus();
      say(`Row ${Number(/\[(\d+)\]$/.exec(row.dataset.row)[1]) + 1} added`);
    }
  });

  // ── Enter goes down, Shift and Enter up ─────────────────────────────────

  const at = (cell) => {
    const row = cell.closest("tbody.row");
    const cells = [...cell.closest("tr").children];
    return { row, column: cells.indexOf(cell.closest("td")) };
  };
  const cellAt = (row, column) => {
    const line = [...row.children].find((each) => !each.matches(".under, .wrong"));
    return line?.children[column]?.querySelector("input:not([type=hidden]), select, textarea");
  };

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.altKey) return;
    const cell = event.target;
    if ((event.ctrlKey || event.metaKey) && cell.matches?.("input, select, textarea")) {
      const button = cell.form?.querySelector(".buttons button");
      if (button) { event.preventDefault(); button.click(); }
      return;
    }
    if (!cell.matches?.("table.grid input") || cell.closest(".under") && !gridOf(cell)) return;
    event.preventDefault();
    const { row, column } = at(cell);
    const rows = rowsOf(gridOf(cell));
    const n = rows.indexOf(row);
    let to = rows[event.shiftKey ? n - 1 : n + 1];
    if (!to && !event.shiftKey && inputs(row).some((each) => each.type !== "checkbox" && each.value && !each.matches(".zone"))) {
      to = addRow(gridOf(cell));
      if (to) say(`Row ${Number(/\[(\d+)\]$/.exec(to.dataset.row)[1]) + 1} added`);
    }
    const next = to && cellAt(to, column);
    next?.focus();
    next?.select?.();
  });

  // ── Sent from anywhere ──────────────────────────────────────────────────

  const tellKeys = (form) => {
    const button = form.querySelector(".buttons button");
    if (!button || !form.querySelector("table.grid, textarea")) return;
    const keys = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ Enter" : "Ctrl+Enter";
    const said = document.createElement("span");
    said.className = "keys";
    said.append(`${keys} in any cell presses “${button.textContent.trim()}”`);
    button.setAttribute("aria-keyshortcuts", "Control+Enter Meta+Enter");
    button.closest(".buttons").append(said);
    for (const link of form.querySelectorAll(".skip-grid")) link.append(`; ${keys} presses the first from any cell`);
  };

  // ── A block from a spreadsheet ──────────────────────────────────────────

  const blockOf = (text) => {
    const rows = [];
    let row = [], cell = "", quoted = false;
    const clean = text.replace(/\r\n?/g, "\n").replace(/\n$/, "");
    for (let i = 0; i < clean.length; i += 1) {
      const c = clean[i];
      if (quoted) {
        if (c === '"' && clean[i + 1] === '"') { cell += c; i += 1; } else if (c === '"') quoted = false; else cell += c;
      } else if (c === '"' && cell === "" && /"(\t|\n|$)/.test(clean.slice(i + 1))) quoted = true;
      else if (c === "\t") { row.push(cell); cell = ""; }
      else if (c === "\n") { row.push(cell); rows.push(row); row = []; cell = ""; }
      else cell += c;
    }
    row.push(cell);
    rows.push(row);
    return rows;
  };

  const put = (cell, text) => {
    const value = text.trim();
    if (cell.type === "checkbox") cell.checked = /^(on|true|1|yes|x|✓)$/i.test(value);
    else if (cell.tagName === "SELECT") {
      const option = [...cell.options].find((each) => each.value.toLowerCase() === value.toLowerCase())
        || [...cell.options].find((each) => each.text.toLowerCase() === value.toLowerCase());
      if (!option) return value === "";
      cell.value = option.value;
    } else if (cell.type === "date" || cell.type === "time" || cell.type === "datetime-local") {
      cell.value = value;
      if (cell.value !== value && value) { cell.type = "text"; cell.value = value; }  // what was pasted stays to be seen
    } else cell.value = value;
    return true;
  };

  document.addEventListener("paste", (event) => {
    const cell = event.target;
    if (!cell.matches?.("table.grid :is(input, select)")) return;
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!/[\t\n]/.test(text.replace(/\r?\n$/, ""))) return;
    event.preventDefault();
    const grid = gridOf(cell);
    const block = blockOf(text);
    const from = at(cell);
    let row = from.row, filled = 0, left = 0, last = cell;
    block.forEach((values, n) => {
      if (n) {
        const rows = rowsOf(grid);
        row = row && (rows[rows.indexOf(row) + 1] || addRow(grid));
      }
      values.forEach((value, offset) => {
        const to = row && cellAt(row, from.column + offset);
        if (to && put(to, value)) { filled += 1; last = to; } else if (value.trim()) left += 1;
      });
    });
    last.focus();
    sumSoon(cell.form);
    say(`${filled} cells filled in ${block.length} rows${left ? `; ${left} did not fit and were left out` : ""}`);
  });

  // ── Totals, exact ───────────────────────────────────────────────────────

  const FIGURE = /^(-?)(\d{1,100})(?:\.(\d{1,100}))?$/;
  const sumOf = (texts) => {
    let places = 0;
    const read = [];
    for (const text of texts) {
      const found = FIGURE.exec(text.trim());
      if (!found) { if (text.trim()) return "—"; continue; }
      read.push(found);
      places = Math.max(places, (found[3] || "").length);
    }
    if (!read.length) return "";
    let sum = 0n;
    for (const [, sign, whole, part = ""] of read) sum += BigInt(sign + whole + part.padEnd(places, "0"));
    const digits = (sum < 0n ? -sum : sum).toString().padStart(places + 1, "0");
    return (sum < 0n ? "-" : "") + digits.slice(0, digits.length - places) + (places ? `.${digits.slice(-places)}` : "");
  };

  const write = (output, text) => {
    const [whole, part] = text.split(".");
    const groups = whole.replace(/\B(?=(\d{3})+$)/g, " ").split(" ");
    if (part !== undefined) groups[groups.length - 1] += `.${part}`;
    const figure = document.createElement("span");
    figure.className = "fig";
    figure.append(groups[0], ...groups.slice(1).map((group) => {
      const span = document.createElement("span");
      span.textContent = group;
      return span;
    }));
    output.replaceChildren(...(text ? [figure] : []));
  };

  const sum = (form) => {
    const outputs = form ? [...form.querySelectorAll("output[data-total]")] : [];
    if (!outputs.length) return;
    const wanted = new Map(outputs.map((each) => [each.dataset.total, []]));
    for (const cell of form.elements) {
      if (!cell.name || cell.inputMode !== "decimal") continue;
      const parts = cell.name.split(/\[\d+\]/);
      const numbers = cell.name.match(/\[\d+\]/g) || [];
      for (let keep = 0; keep < numbers.length; keep += 1) {
        const key = parts.reduce((name, part, n) => name + (n ? (n <= keep ? numbers[n - 1] : "[]") : "") + part, "");
        wanted.get(key)?.push(cell.value);
      }
    }
    for (const output of outputs) write(output, sumOf(wanted.get(output.dataset.total)));
  };

  let waiting = 0;
  const sumSoon = (form) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => sum(form), 120);
  };
  document.addEventListener("input", (event) => {
    if (event.target.matches?.("table.grid [inputmode=decimal]")) sumSoon(event.target.form);
  });

  // ── Time zones ──────────────────────────────────────────────────────────

  const inZone = (within) => {
    for (const zone of within.querySelectorAll("input[data-zone]")) {
      zone.setAttribute("list", "meridian-zones");
      if (!zone.value && !zone.matches("[aria-invalid]")) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
    }
  };

  const zones = () => {
    if (!document.querySelector("input[data-zone]") || !Intl.supportedValuesOf) return;
    const list = document.createElement("datalist");
    list.id = "meridian-zones";
    for (const name of ["UTC", ...Intl.supportedValuesOf("timeZone")]) list.append(new Option("", name));
    document.body.append(list);
    inZone(document);
  };

  // ── When the page is here ───────────────────────────────────────────────

  zones();
  const here = new URL(location.href);
  if (here.searchParams.has("meridian.outcome")) {  // told to the browser's agent by now, and no part of an address to keep
    here.searchParams.delete("meridian.outcome");
    history.replaceState(history.state, "", here);
  }
  for (const form of document.querySelectorAll("form")) { sum(form); tellKeys(form); }
  const tab = document.querySelector(".tabs [aria-current]");
  if (tab) tab.closest("ul").scrollLeft = tab.offsetLeft - tab.closest("ul").offsetLeft - 48;
  const problems = document.querySelector(".problems[autofocus]");
  if (problems && document.activeElement !== problems) problems.focus();
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".problems a[href^='#']");
    const target = link && document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (!target) return;
    for (let folded = target.closest("details:not([open])"); folded; folded = folded.parentElement?.closest("details:not([open])")) folded.open = true;
    const cell = target.matches("input, select, textarea") ? target : inputs(target)[0];
    if (!cell) return;
    event.preventDefault();
    cell.focus();
    cell.scrollIntoView({ block: "center" });
  });
})();
