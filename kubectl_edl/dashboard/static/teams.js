// Teams as a tree: what each is guaranteed, uses, borrows and lends, and how many of its jobs wait.

import { key, stacked } from "./charts.js";
import { byId, element, setHidden, setText } from "./dom.js";
import { Table } from "./tables.js";
import { many } from "./format.js";

const PARTS = ["within", "borrowed", "lent"];
const WORDS = { within: "used of the guarantee", borrowed: "borrowed", lent: "lent" };
const NOTHING = "none";

export class Teams {
  constructor() {
    this.table = new Table(
      byId("teams-table"),
      "Teams",
      [
        { title: "Team", cell: named, drawn: ({ name, level }) => [name, level] },
        { title: "Guaranteed", cell: (row) => row.guaranteed || NOTHING },
        { title: "Used", cell: (row) => row.used || NOTHING },
        { title: "Borrowed", cell: (row) => row.borrowed || NOTHING },
        { title: "Lent", cell: (row) => row.lent || NOTHING },
        { title: "Waiting", cell: (row) => row.waiting },
        { title: "Used of the guarantee", cell: bars, drawn: ({ bars: drawn }) => drawn },
      ],
      "No teams are configured.",
    );
    byId("teams-legend").replaceChildren(...PARTS.map((part) => element("span", {}, key(`team-${part}`), WORDS[part])));
  }

  show({ teams }) {
    setHidden(byId("teams"), teams.all === 0);
    setHidden(byId("teams-link"), teams.all === 0);
    this.table.show(teams.rows, (row) => row.name);
    const hidden = teams.all - teams.rows.length;
    setText(byId("teams-more"), hidden > 0 ? `and ${many(hidden, "more team", "more teams")}` : "");
  }
}

// Below its parent: indented, and said in words for screen readers.
function named({ name, level }) {
  const depth = Math.min(level, 8);
  const said = level > 0 ? element("span", { class: "unseen" }, `level ${level + 1}: `) : null;
  return element("span", { class: `depth-${depth}` }, said, name);
}

function bars(row) {
  return element("div", { class: "load" }, ...row.bars.flatMap((one) => [figure(one), bar(one, row.name)]));
}

function figure({ text }) {
  return element("span", { class: "figure" }, text);
}

function bar(one, team) {
  const parts = PARTS.map((part) => [`team-${part}`, one[part]]);
  return stacked(parts, `${team}: ${one.text}`);
}
