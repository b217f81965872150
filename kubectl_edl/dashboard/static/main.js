// The page: one stream of pictures, and the parts of the page that show them.

import { scales } from "./requests.js";
import { Cluster, Nodes } from "./cluster.js";
import { colours } from "./color_scheme.js";
import { Costs } from "./costs.js";
import { byId, element, setHidden, setText } from "./dom.js";
import { History, Imagine } from "./what_if.js";
import { Jobs, Queue } from "./jobs.js";
import { News } from "./announcements.js";
import { Scale } from "./scale.js";
import { Stream } from "./stream.js";
import { Teams } from "./teams.js";

const STATES = {
  connecting: "connecting …",
  live: "live",
  lost: "connection lost, trying again …",
};

colours(byId("theme"));
const imagine = new Imagine();
const history = new History();
const scale = scales ? new Scale(() => imagine.job) : null;
const parts = [new Cluster(), new Jobs(), new Queue(), new Teams(), imagine, new Nodes(), new Costs(), new News()];

byId("imagine-job").addEventListener("chosen", () => {
  history.show(imagine.job);
  scale?.choose(imagine.job);
});

function show(picture) {
  setHidden(byId("trouble"), !picture.trouble);
  setText(byId("trouble"), picture.trouble ? `What you see may be old: ${picture.trouble}` : "");
  if (!picture.cluster) return; // nothing could be read yet
  hint(picture.hints);
  for (const part of parts) part.show(picture);
  history.show(imagine.job);
}

function hint(hints) {
  const list = byId("hints");
  setHidden(list, hints.length === 0);
  const shown = [...list.children].map((item) => item.textContent);
  if (shown.join("\n") !== hints.join("\n")) {
    list.replaceChildren(...hints.map((text) => element("li", {}, text)));
  }
}

function state(name) {
  const place = byId("state");
  setText(place, STATES[name]);
  place.dataset.state = name;
}

new Stream(show, state);
