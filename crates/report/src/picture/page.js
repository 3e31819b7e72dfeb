"use strict";
// Zoom and pan the drawing, find nodes by their text, show the nodes of a race.
const picture = document.getElementById("picture");
const content = document.getElementById("content");
const search = document.getElementById("search");
const found = document.getElementById("found");
const nodes = [...content.querySelectorAll(".node")];
const texts = nodes.map((node) => node.textContent.toLowerCase());
const size = { width: +picture.dataset.width, height: +picture.dataset.height };
let scale = 1, left = 0, top_ = 0, hits = [], hit = -1;

function show() {
  content.setAttribute("transform", `translate(${left} ${top_}) scale(${scale})`);
}

function fit() {
  const { width, height } = picture.getBoundingClientRect();
  const whole = Math.min((width - 40) / size.width, (height - 40) / size.height, 1.5);
  // A large drawing starts readable, at its top. The second click on `fit` shows all of it.
  scale = scale === whole || whole > 0.75 ? whole : 0.75;
  left = Math.max((width - size.width * scale) / 2, 20);
  if (size.width * scale > width) {
    const box = nodes.length ? nodes[0].getBBox() : { x: 0, width: 0 };
    left = scale === whole ? 20 : width / 2 - (box.x + box.width / 2) * scale;
  }
  top_ = 20;
  show();
}

function zoom(factor, x, y) {
  const next = Math.min(Math.max(scale * factor, 0.02), 8);
  left = x - (x - left) * (next / scale);
  top_ = y - (y - top_) * (next / scale);
  scale = next;
  show();
}

function zoomAtCentre(factor) {
  const { width, height } = picture.getBoundingClientRect();
  zoom(factor, width / 2, height / 2);
}

// Moves the drawing so that these nodes are in the middle, and all of them are seen.
function centre(shown) {
  const boxes = shown.map((node) => node.getBBox());
  const x0 = Math.min(...boxes.map((box) => box.x));
  const y0 = Math.min(...boxes.map((box) => box.y));
  const x1 = Math.max(...boxes.map((box) => box.x + box.width));
  const y1 = Math.max(...boxes.map((box) => box.y + box.height));
  const { width, height } = picture.getBoundingClientRect();
  const whole = Math.min((width - 80) / (x1 - x0), (height - 80) / (y1 - y0));
  scale = Math.min(whole, Math.max(scale, 0.9));
  left = width / 2 - ((x0 + x1) / 2) * scale;
  top_ = height / 2 - ((y0 + y1) / 2) * scale;
  show();
}

function mark(marked) {
  nodes.forEach((node) => {
    node.classList.toggle("hit", marked.includes(node));
    node.classList.toggle("dim", marked.length > 0 && !marked.includes(node));
  });
}

function find() {
  const wanted = search.value.trim().toLowerCase();
  hits = wanted ? nodes.filter((_, at) => texts[at].includes(wanted)) : [];
  hit = -1;
  mark(hits);
  found.textContent = wanted ? `${hits.length} found` : "";
  if (hits.length) next(1);
}

function next(step) {
  if (!hits.length) return;
  hit = (hit + step + hits.length) % hits.length;
  found.textContent = `${hit + 1} of ${hits.length}`;
  centre([hits[hit]]);
}

search.addEventListener("input", find);
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") next(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") { search.value = ""; find(); }
});
document.getElementById("in").addEventListener("click", () => zoomAtCentre(1.3));
document.getElementById("out").addEventListener("click", () => zoomAtCentre(1 / 1.3));
document.getElementById("fit").addEventListener("click", fit);
document.querySelectorAll("[data-nodes]").forEach((race) => {
  race.addEventListener("click", () => {
    const ids = race.dataset.nodes.split(" ");
    const both = ids.map((id) => document.getElementById(`node-${id}`)).filter(Boolean);
    search.value = "";
    found.textContent = "";
    hits = [];
    mark(both);
    if (both.length) centre(both);
  });
});
picture.addEventListener("wheel", (event) => {
  event.preventDefault();
  const { left: x, top: y } = picture.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY / 400), event.clientX - x, event.clientY - y);
}, { passive: false });
picture.addEventListener("pointerdown", (event) => {
  if (event.target.closest(".race")) return;
  picture.setPointerCapture(event.pointerId);
  picture.classList.add("moving");
});
picture.addEventListener("pointermove", (event) => {
  if (!picture.classList.contains("moving")) return;
  left += event.movementX;
  top_ += event.movementY;
  show();
});
for (const end of ["pointerup", "pointercancel"]) {
  picture.addEventListener(end, () => picture.classList.remove("moving"));
}
document.addEventListener("keydown", (event) => {
  if (event.target === search) return;
  if (event.key === "/") { event.preventDefault(); search.focus(); }
  if (event.key === "+") zoomAtCentre(1.3);
  if (event.key === "-") zoomAtCentre(1 / 1.3);
  if (event.key === "0") fit();
});
fit();
