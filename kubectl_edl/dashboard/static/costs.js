// What takes the nodes in an hour, and what that costs, as `kubectl edl top cluster` says it.

import { key, stacked } from "./charts.js";
import { byId, element, setHidden, setItems, setText } from "./dom.js";
import { Table } from "./tables.js";

const PARTS = ["minimums", "extras", "others"]; // what is left of the bar is idle
const WORDS = {
  minimums: "replicas up to their minimum",
  extras: "replicas beyond it",
  others: "pods of other owners",
};

export class Costs {
  constructor() {
    this.table = new Table(
      byId("costs-table"),
      "Cost of an hour",
      [
        { title: "Per hour", cell: (row) => row.title },
        { title: "Minimums", cell: (row) => row.minimums },
        { title: "Extras", cell: (row) => row.extras },
        { title: "Others", cell: (row) => row.others },
        { title: "Idle", cell: (row) => row.idle },
        { title: "Total", cell: (row) => row.total },
        { title: "Parts", cell: parts, drawn: (row) => row },
      ],
      "The cluster has no nodes.",
    );
    const words = PARTS.map((part) => element("span", {}, key(`cost-${part}`), WORDS[part]));
    byId("costs-legend").replaceChildren(...words);
  }

  show({ costs }) {
    setHidden(byId("costs"), !costs);
    setHidden(byId("costs-link"), !costs);
    if (!costs) return;
    this.table.show(costs.rows, (row) => row.title);
    setText(byId("costs-note"), costs.note);
    setItems(byId("costs-hours"), costs.hours.length > 0 ? costs.hours : ["none"]);
  }
}

function parts(row) {
  const { title, minimums, extras, others, idle, total } = row;
  const label = `${title}: ${minimums} by minimums, ${extras} by extras, ${others} by others, ${idle} idle of ${total}`;
  const drawn = PARTS.map((part, index) => [`cost-${part}`, row.parts[index]]);
  return element("div", { class: "load" }, stacked(drawn, label));
}
