// Elements, without a string of HTML anywhere: what a cluster says can never become markup.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

// Writes only what differs: a screen reader, a selection and the focus stay where they are.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

// Writes a list only if it differs.
export function setItems(list, texts) {
  const shown = [...list.children].map((item) => item.textContent);
  if (shown.join("\n") !== texts.join("\n")) {
    list.replaceChildren(...texts.map((text) => element("li", {}, text)));
  }
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
