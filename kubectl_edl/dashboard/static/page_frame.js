// What both pages have: colours, the stream of pictures, trouble and hints.

import { colours } from "./color_scheme.js";
import { byId, setHidden, setItems, setText } from "./dom.js";
import { Stream } from "./stream.js";

const STATES = {
  connecting: "connecting …",
  live: "live",
  lost: "connection lost, trying again …",
};

// Calls `show` with each picture of the cluster.
export function follow(show) {
  colours(byId("theme"));
  new Stream(show, state);
}

export function trouble(text) {
  setHidden(byId("trouble"), !text);
  setText(byId("trouble"), text ? `What you see may be old: ${text}` : "");
}

export function hint(hints) {
  setHidden(byId("hints"), hints.length === 0);
  setItems(byId("hints"), hints);
}

function state(name) {
  const place = byId("state");
  setText(place, STATES[name]);
  place.dataset.state = name;
}
