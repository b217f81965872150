// Real tables whose rows are kept by key: only cells that differ are written again.
//
// On a narrow screen rows become cards by CSS. Some browsers then drop the table's roles, so these
// are written as attributes.

import { element, setHidden, setText } from "./dom.js";

export class Table {
  #rows = new Map();

  // columns: [{title, cell(row) → text or Node, wide, key(row)}]; the first one heads its row.
  // `same(row)` says when a cell that is a Node has to be drawn again.
  constructor(place, caption, columns, nothing) {
    this.columns = columns;
    this.nothing = element("p", { class: "muted" }, nothing);
    this.body = element("tbody", { role: "rowgroup" });
    const titles = columns.map(({ title }) =>
      element("th", { scope: "col", role: "columnheader" }, title),
    );
    const head = element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...titles));
    const named = element("caption", { class: "unseen" }, caption);
    this.table = element("table", { role: "table", "aria-label": caption }, named, head, this.body);
    place.replaceChildren(this.table, this.nothing);
    this.show([]);
  }

  show(rows, key = (row) => `${row.namespace}/${row.name}`) {
    setHidden(this.table, rows.length === 0);
    setHidden(this.nothing, rows.length > 0);
    const wanted = new Map(rows.map((row) => [key(row), row]));
    for (const [name, line] of this.#rows) {
      if (!wanted.has(name)) {
        line.tr.remove();
        this.#rows.delete(name);
      }
    }
    let before = null;
    for (const [name, row] of wanted) {
      const line = this.#rows.get(name) ?? this.#added(name);
      this.#write(line, row);
      const place = before ? before.nextSibling : this.body.firstChild;
      if (place !== line.tr) this.body.insertBefore(line.tr, place);
      before = line.tr;
    }
  }

  filter(holds) {
    for (const { tr, row } of this.#rows.values()) setHidden(tr, !holds(row));
  }

  #added(name) {
    const cells = this.columns.map(({ title }, index) =>
      index === 0
        ? element("th", { scope: "row", role: "rowheader", "data-title": title })
        : element("td", { role: "cell", "data-title": title }),
    );
    const line = { tr: element("tr", { role: "row" }, ...cells), cells, said: [], row: null };
    this.#rows.set(name, line);
    return line;
  }

  #write(line, row) {
    line.row = row;
    this.columns.forEach(({ cell, drawn }, index) => {
      if (!cell) return;
      if (!drawn) return setText(line.cells[index], String(cell(row)));
      const said = JSON.stringify(drawn(row));
      if (line.said[index] !== said) {
        line.said[index] = said;
        line.cells[index].replaceChildren(cell(row));
      }
    });
  }
}
