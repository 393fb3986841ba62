// What both pages of a tree say in one way.  What comes from the data goes into <bdi>, so that its direction of writing stays its own.

const $ = (id) => document.getElementById(id);

/** A new element. children: texts and elements. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const named = (text) => make("bdi", {}, text);
const number = (x, digits = 6) => String(Number(x.toPrecision(digits)));

function percent(share) {
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return share > 0.999 && share < 1 ? "> 99.9 %" : `${Number((100 * share).toFixed(1))} %`;
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The number that a text says; undefined where it says none, as 1,5 does. */
function numberOf(text) {
  const trimmed = text.trim();
  return NUMBER.test(trimmed) && Number.isFinite(Number(trimmed)) ? Number(trimmed) : undefined;
}
