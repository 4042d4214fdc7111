"use strict";
(() => {
  const summary = JSON.parse(document.getElementById("summary").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const COLOURS = ["#1f6f8b", "#c8553d", "#588157", "#7b4fa3", "#b8860b", "#d1495b", "#3d5a80", "#2a9d8f", "#8d6e63",
    "#6c757d", "#e07a5f", "#4361ee", "#9c6644", "#006d77", "#bc4b93", "#7f8c1d"];
  const money = value => `${value.toFixed(2)} ${summary.unit}`.trim();
  const byId = id => document.getElementById(id);
  const make = (name, attributes, parent) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    parent.appendChild(node);
    return node;
  };
  const tip = document.createElement("div");
  tip.id = "tip";
  document.body.appendChild(tip);

  // The frontier, bills on a logarithmic axis: the interesting budgets are small ones.
  const W = 1040, H = 430, LEFT = 58, RIGHT = 16, TOP = 12, BOTTOM = 44;
  const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "score against cost" }, byId("frontier"));
  const points = summary.methods.flatMap(method => method.points);
  const least = summary.full_cost * 0.003;
  const low = Math.min(...points.map(p => p.score)), high = Math.max(...points.map(p => p.score));
  const pad = (high - low || 1) * 0.05;
  const x = cost => LEFT + (W - LEFT - RIGHT) * Math.log(Math.max(cost, least) / least) / Math.log(summary.full_cost / least);
  const y = score => H - BOTTOM - (H - TOP - BOTTOM) * (score - low + pad) / (high - low + 2 * pad);
  for (let i = 0; i <= 5; i++) {
    const score = low - pad + (high - low + 2 * pad) * i / 5;
    make("line", { x1: LEFT, x2: W - RIGHT, y1: y(score), y2: y(score), stroke: "#e3e7ed" }, svg);
    make("text", { x: LEFT - 8, y: y(score) + 4, "text-anchor": "end" }, svg).textContent = score.toFixed(3);
  }
  for (const share of [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]) {
    const cost = share * summary.full_cost;
    make("line", { x1: x(cost), x2: x(cost), y1: TOP, y2: H - BOTTOM, stroke: "#eef1f5" }, svg);
    const text = make("text", { x: x(cost), y: H - BOTTOM + 16, "text-anchor": "middle" }, svg);
    text.textContent = cost >= 100 ? cost.toFixed(0) : cost.toPrecision(2);
  }
  const label = make("text", { x: (LEFT + W) / 2, y: H - 8, "text-anchor": "middle" }, svg);
  label.textContent = `mean bill${summary.unit ? `, ${summary.unit}` : ""} (logarithmic)`;

  summary.methods.forEach((method, index) => {
    const colour = COLOURS[index % COLOURS.length];
    const group = make("g", {}, svg);
    const path = method.points.map((p, i) => `${i ? "L" : "M"}${x(p.cost).toFixed(1)},${y(p.score).toFixed(1)}`).join("");
    make("path", { d: path, fill: "none", stroke: colour, "stroke-width": 2.2, "stroke-dasharray": method.peer ? "6 5" : "none" }, group);
    for (const p of method.points) {
      const dot = make("circle", { cx: x(p.cost), cy: y(p.score), r: 6, fill: colour, "fill-opacity": 0.02 }, group);
      dot.addEventListener("mousemove", event => {
        tip.textContent = `${method.name}: ${summary.score_name} ${p.score.toFixed(4)} for ${money(p.cost)}`;
        tip.style.display = "block";
        tip.style.left = `${Math.min(event.clientX + 12, innerWidth - 360)}px`;
        tip.style.top = `${event.clientY + 14}px`;
      });
      dot.addEventListener("mouseleave", () => { tip.style.display = "none"; });
    }
    const entry = document.createElement("span");
    const stroke = document.createElement("i");
    stroke.style.borderTopColor = colour;
    stroke.style.borderTopStyle = method.peer ? "dashed" : "solid";
    entry.append(stroke, method.name);
    entry.addEventListener("click", () => {
      group.style.display = entry.classList.toggle("off") ? "none" : "";
    });
    byId("legend").appendChild(entry);
  });
  const ring = make("circle", { r: 8, fill: "none", stroke: "#1c2330", "stroke-width": 2.5 }, svg);

  // The slider picks; the page says what that model buys.
  const order = summary.features.map((_, i) => i).sort((a, b) => summary.features[b].alone - summary.features[a].alone);
  function show(stop) {
    const pick = summary.picks[stop];
    byId("budget-value").textContent = money(pick.budget);
    byId("pick-method").textContent = pick.method;
    byId("pick-score").textContent = pick.score.toFixed(4);
    byId("pick-cost").textContent = money(pick.cost);
    const settings = Object.entries(pick.params).map(([name, value]) =>
      `${name} ${typeof value === "number" ? Number(value.toPrecision(3)) : value}`);
    if (pick.stage !== null) settings.push(`${pick.stage} stages`);
    byId("pick-params").textContent = settings.join(", ") || "none";
    ring.setAttribute("cx", x(pick.cost));
    ring.setAttribute("cy", y(pick.score));
    const bars = order.filter(i => pick.shares[i] > 0).slice(0, 40).map(i => {
      const feature = summary.features[i], row = document.createElement("div"), track = document.createElement("div");
      const fill = document.createElement("b"), name = document.createElement("span"), note = document.createElement("small");
      row.className = "bar";
      name.textContent = feature.name;
      fill.style.width = `${100 * pick.shares[i]}%`;
      note.textContent = `${(100 * pick.shares[i]).toFixed(0)} % at ${money(feature.alone)}`;
      track.append(fill);
      row.append(name, track, note);
      return row;
    });
    byId("purchases").replaceChildren(...bars);
    if (!bars.length) byId("purchases").textContent = "Nothing: the answer is the most common one.";
  }
  const slider = byId("budget");
  slider.addEventListener("input", () => show(Number(slider.value)));
  show(Number(slider.value));
})();
