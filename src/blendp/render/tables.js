"use strict";
// Tables that can be sorted and searched, and regions that say that they scroll. Without this script all is shown.
(() => {
  const MIN_SORTED = 3, MIN_SEARCHED = 10;
  const NUMBER = /^(?:at most |up to )?[<≤±+~]?\s*(-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?)(?:\s*(?:%|points|records|clients|people|B|!|±|\(|to\b).*)?$/i;
  const UNKNOWN = /^(?:unknown|–|-|)$/;
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const textOf = (cell) => (cell ? cell.textContent.trim().replaceAll("−", "-") : "");
  const numberOf = (text) => {
    const match = NUMBER.exec(text);
    return match ? Number(match[1].replaceAll(",", "")) : NaN;
  };

  const sortable = (table) => {
    const body = table.tBodies[0];
    const heads = table.tHead?.rows.length === 1 ? [...table.tHead.rows[0].cells] : [];
    const rows = [...body.rows];
    if (rows.length < MIN_SORTED) return;
    const known = [];
    const keysOf = (column) => known[column] ??= columnOf(column);
    const columnOf = (column) => {
      const cells = rows.map((row) => row.cells[column]);
      const texts = cells.map(textOf);
      const numbers = texts.map(numberOf);
      const unknown = (text, i) => UNKNOWN.test(text) || (cells[i].tagName === "TD" && !/\d/.test(text));
      const numeric = numbers.some((value) => !Number.isNaN(value))
        && texts.every((text, i) => !Number.isNaN(numbers[i]) || unknown(text, i));
      return { numeric, keys: numeric ? numbers : texts };
    };
    const order = (column, falling) => {
      const { numeric, keys } = keysOf(column);
      const sign = falling ? -1 : 1;
      const unknown = (key) => (numeric ? Number.isNaN(key) : key === "");
      const compare = numeric ? (a, b) => a - b : collator.compare;
      const places = rows.map((_, i) => i).sort((i, j) =>
        unknown(keys[i]) - unknown(keys[j]) || (unknown(keys[i]) ? 0 : sign * compare(keys[i], keys[j])) || i - j);
      return places.map((i) => rows[i]);
    };
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = make("button", { type: "button", className: "sort" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const first = keysOf(column).numeric ? "descending" : "ascending";
        const second = first === "ascending" ? "descending" : "ascending";
        const next = { [first]: second, [second]: null }[head.getAttribute("aria-sort")];
        const state = next === undefined ? first : next;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        if (state) head.setAttribute("aria-sort", state);
        body.replaceChildren(...(state ? order(column, state === "descending") : rows));
      });
    });
  };

  const searchable = (table, region, index) => {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < MIN_SEARCHED) return;
    const plain = (text) => text.normalize("NFKC").toLowerCase();
    const texts = rows.map((row) => plain(row.textContent));
    const count = make("output", { htmlFor: `search-${index}`, className: "quiet" });
    const input = make("input", { type: "search", id: `search-${index}`, autocomplete: "off", maxLength: 200 });
    const tell = (shown) => {
      count.value = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    };
    input.addEventListener("input", () => {
      const wanted = plain(input.value).trim();
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !texts[i].includes(wanted);
        shown += !row.hidden;
      });
      tell(shown);
    });
    tell(rows.length);
    const name = document.getElementById(region.getAttribute("aria-labelledby"))?.textContent.trim() ?? "";
    input.setAttribute("aria-label", `Search this table: ${name.slice(0, 80)}`);
    region.before(make("div", { className: "tools" },
      make("label", { htmlFor: input.id, textContent: "Search this table" }), input, count));
  };

  const telling = (region) => {
    const hint = make("p", { className: "hint", hidden: true });
    hint.setAttribute("aria-hidden", "true");
    region.before(hint);
    const look = () => {
      const sideways = region.scrollWidth > region.clientWidth + 1;
      const down = region.scrollHeight > region.clientHeight + 1;
      hint.hidden = !sideways && !down;
      hint.textContent = sideways ? (down ? "Scroll down and sideways for more ↘" : "Scroll sideways for more →")
        : "Scroll down for more ↓";
    };
    new ResizeObserver(look).observe(region);
    if (region.firstElementChild) new ResizeObserver(look).observe(region.firstElementChild);
  };

  document.querySelectorAll(".scroll, .wide").forEach((region, index) => {
    if (region.parentElement.classList.contains("pair")) {
      const cell = make("div", {});
      region.replaceWith(cell);
      cell.append(region);
    }
    const table = region.querySelector("table.sortable");
    if (table?.tBodies.length) {
      sortable(table);
      searchable(table, region, index);
    }
    telling(region);
  });
})();
