// The page: one stream of pictures, and the parts of the page that show them.

import { scales } from "./requests.js";
import { Cluster, Nodes } from "./cluster.js";
import { Costs } from "./costs.js";
import { byId } from "./dom.js";
import { History, Imagine } from "./what_if.js";
import { Jobs, Queue } from "./jobs.js";
import { News } from "./announcements.js";
import { follow, hint, trouble } from "./page_frame.js";
import { Scale } from "./scale.js";
import { Teams } from "./teams.js";

const imagine = new Imagine();
const history = new History();
const scale = scales ? new Scale(() => imagine.job) : null;
const parts = [new Cluster(), new Jobs(), new Queue(), new Teams(), imagine, new Nodes(), new Costs(), new News()];

byId("imagine-job").addEventListener("chosen", () => {
  history.show(imagine.job);
  scale?.choose(imagine.job);
});

follow((picture) => {
  trouble(picture.trouble);
  if (!picture.cluster) return; // nothing could be read yet
  hint(picture.hints);
  for (const part of parts) part.show(picture);
  history.show(imagine.job);
});
