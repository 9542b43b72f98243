"use strict";
(() => {
  const tools = document.getElementById("tools");
  const words = document.getElementById("words");
  const verdict = document.getElementById("verdict");
  const order = document.getElementById("order");
  const shown = document.getElementById("shown");
  const rows = [...document.querySelectorAll("tr[data-verdict]")];

  const filter = () => {
    const sought = words.value.trim().toLowerCase().split(/\s+/);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const kept = sought.every((word) => text.includes(word));
      row.hidden = !kept || (verdict.value !== "" && row.dataset.verdict !== verdict.value);
      count += row.hidden ? 0 : 1;
    }
    // A heading stands over what is shown of its own, and only while the order is its own.
    for (const heading of document.querySelectorAll("tr.group")) {
      let next = heading.nextElementSibling;
      while (next !== null && next.hidden && !next.classList.contains("group")) next = next.nextElementSibling;
      const empty = next === null || next.classList.contains("group");
      heading.hidden = order.value !== "place" || empty;
    }
    shown.textContent = `${count} of ${rows.length} audits`;
  };

  // Rows without a ratio come last.
  const key = (row, name) => {
    if (name === "place") return [0, Number(row.dataset.place)];
    if (name === "verdict") return [0, row.dataset.verdict ?? ""];
    return row.dataset.ratio === "" ? [1, 0] : [0, -Number(row.dataset.ratio)];
  };

  const before = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

  const sort = (name) => {
    for (const body of document.querySelectorAll("table.index tbody")) {
      const ordered = [...body.rows].sort((one, other) => {
        const [a, b] = [key(one, name), key(other, name)];
        const places = [key(one, "place"), key(other, "place")];
        return before(a[0], b[0]) || before(a[1], b[1]) || before(places[0][1], places[1][1]);
      });
      body.append(...ordered);
      body.closest("table").classList.toggle("ordered", name !== "place");
    }
  };

  words.addEventListener("input", filter);
  verdict.addEventListener("change", filter);
  order.addEventListener("change", () => {
    sort(order.value);
    filter();
  });
  tools.hidden = false;
  filter();
})();
