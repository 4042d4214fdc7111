"use strict";
(() => {
  const summary = JSON.parse(document.getElementById("summary").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const COLOURS = ["#1f6f8b", "#c8553d", "#588157", "#7b4fa3", "#b8860b", "#d1495b", "#3d5a80", "#2a9d8f", "#8d6e63",
    "#6c757d", "#e07a5f", "#4361ee", "#9c6644", "#006d77", "#bc4b93", "#7f8c1d"];
  // Shares of right answers are read as percentages; other scores are numbers.
  const percent = summary.score_name === "accuracy";
  const said = (score, digits = 1) => percent ? `${(100 * score).toFixed(digits)} %` : score.toFixed(digits + 2);
  const INK = "#1c2330";
  const money = value => `${value.toFixed(2)} ${summary.unit}`.trim();
  const byId = id => document.getElementById(id);
  const make = (name, attributes, parent) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    parent.appendChild(node);
    return node;
  };
  const element = (name, text, className) => {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  };
  const colour = index => COLOURS[index % COLOURS.length];
  const tip = element("div");
  tip.id = "tip";
  document.body.appendChild(tip);

  // The frontier, bills on a logarithmic axis: the interesting budgets are small ones.
  const points = summary.methods.flatMap(method => method.points);
  const peers = summary.peer ? [summary.peer] : [];
  const scores = [...points, ...summary.models, ...peers].map(p => p.score);
  const low = Math.min(...scores), high = Math.max(...scores), pad = (high - low || 1) * 0.05;
  const least = summary.full_cost * 0.003;
  const hidden = new Set();
  let chart, stop;

  const roundStep = rough => {
    const ten = 10 ** Math.floor(Math.log10(rough));
    return ten * [1, 2, 5, 10].find(digit => digit * ten >= rough * 0.999);
  };
  const roundCosts = digits => {
    const found = [];
    for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(summary.full_cost)); power++)
      for (const digit of digits) found.push(digit * 10 ** power);
    return found.filter(cost => cost >= least && cost <= summary.full_cost);
  };

  function draw() {
    const width = Math.max(300, byId("frontier").clientWidth), height = Math.round(Math.min(430, width * 0.75));
    const LEFT = 48, RIGHT = 12, TOP = 12, BOTTOM = 44;
    const svg = document.createElementNS(SVG, "svg");
    for (const [key, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "score against cost" }))
      svg.setAttribute(key, value);
    const x = cost => LEFT + (width - LEFT - RIGHT) * Math.log(Math.max(cost, least) / least) / Math.log(summary.full_cost / least);
    const y = score => height - BOTTOM - (height - TOP - BOTTOM) * (score - low + pad) / (high - low + 2 * pad);
    const step = roundStep((high - low + 2 * pad) / 5), places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    for (let i = Math.ceil((low - pad) / step); i * step <= high + pad; i++) {
      const score = i * step;
      make("line", { x1: LEFT, x2: width - RIGHT, y1: y(score), y2: y(score), stroke: "#e3e7ed" }, svg);
      make("text", { x: LEFT - 6, y: y(score) + 4, "text-anchor": "end" }, svg).textContent = percent ? `${(100 * score).toFixed(Math.max(0, places - 2))} %` : score.toFixed(places);
    }
    for (const cost of roundCosts(width < 600 ? [1] : [1, 2, 5])) {
      make("line", { x1: x(cost), x2: x(cost), y1: TOP, y2: height - BOTTOM, stroke: "#eef1f5" }, svg);
      const text = make("text", { x: x(cost), y: height - BOTTOM + 16, "text-anchor": "middle" }, svg);
      text.textContent = String(Number(cost.toPrecision(2)));
    }
    const label = make("text", { x: (LEFT + width) / 2, y: height - 8, "text-anchor": "middle" }, svg);
    label.textContent = `mean bill${summary.unit ? `, ${summary.unit}` : ""} (logarithmic)`;
    const band = make("path", { class: "band", stroke: "none", "fill-opacity": 0.15 }, svg);
    const groups = summary.methods.map((method, index) => curve(method, colour(index), svg, x, y));
    drawModels(svg, x, y);
    const ring = make("circle", { r: 8, fill: "none", stroke: INK, "stroke-width": 2.5 }, svg);
    byId("frontier").replaceChildren(svg);
    chart = { x, y, band, groups, ring };
    groups.forEach((group, index) => { group.style.display = hidden.has(index) ? "none" : ""; });
  }

  // What the slider shows: a step up where the next model can be paid for, and what people use today beside it.
  function drawModels(svg, x, y) {
    const steps = summary.models.map((model, i) => `${i ? `H${x(model.cost).toFixed(1)}V` : `M${x(model.cost).toFixed(1)},`}${y(model.score).toFixed(1)}`);
    make("path", { d: `${steps.join("")}H${x(summary.full_cost).toFixed(1)}`, fill: "none", stroke: INK, "stroke-width": 2.6 }, svg);
    for (const model of summary.models) {
      const dot = make("circle", { class: "model", cx: x(model.cost), cy: y(model.score), r: 4, fill: INK }, svg);
      explain(dot, `${summary.labels[model.method]}: ${summary.score_name} ${said(model.score)} for ${money(model.cost)}`);
    }
    for (const peer of peers) {
      const [cx, cy] = [x(peer.cost), y(peer.score)];
      const mark = make("path", { class: "today", d: `M${cx},${cy - 7}l7,7l-7,7l-7,-7Z`, fill: "#fff", stroke: INK, "stroke-width": 2 }, svg);
      explain(mark, `${peer.method}: ${summary.score_name} ${said(peer.score)} for ${money(peer.cost)}`);
    }
  }

  function explain(mark, text) {
    mark.addEventListener("pointermove", event => {
      tip.textContent = text;
      tip.style.display = "block";
      tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8))}px`;
      tip.style.top = `${event.clientY + 14}px`;
    });
    mark.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  }

  function curve(method, stroke, svg, x, y) {
    const group = make("g", {}, svg);
    const path = method.points.map((p, i) => `${i ? "L" : "M"}${x(p.cost).toFixed(1)},${y(p.score).toFixed(1)}`).join("");
    make("path", { class: "curve", d: path, fill: "none", stroke, "stroke-width": 1.5, "stroke-dasharray": method.peer ? "6 5" : "none" }, group);
    for (const p of method.points) {
      const dot = make("circle", { cx: x(p.cost), cy: y(p.score), r: 6, fill: stroke, "fill-opacity": 0.02 }, group);
      explain(dot, `${summary.labels[method.name]}: ${summary.score_name} ${said(p.score, 2)} for ${money(p.cost)}`);
    }
    return group;
  }

  summary.methods.forEach((method, index) => {
    const entry = element("span"), stroke = element("i");
    stroke.style.borderTopColor = colour(index);
    stroke.style.borderTopStyle = method.peer ? "dashed" : "solid";
    entry.append(stroke, summary.labels[method.name]);
    entry.addEventListener("click", () => {
      const off = entry.classList.toggle("off");
      hidden[off ? "add" : "delete"](index);
      chart.groups[index].style.display = off ? "none" : "";
    });
    byId("legend").appendChild(entry);
  });

  for (const [mark, text] of [["●", "models of the slider"], ...peers.map(peer => ["◇", `${peer.method}, measured like them`])]) {
    const entry = element("span", undefined, "fixed");
    entry.append(element("b", mark), text);
    byId("legend").prepend(entry);
  }

  // One model per position: its figures, its band, its purchases, its cases.
  const order = summary.features.map((_, i) => i).sort((a, b) => summary.features[b].alone - summary.features[a].alone);
  function show(position) {
    stop = position;
    const pick = summary.picks[stop], model = summary.models[pick.model];
    byId("budget-value").textContent = money(pick.budget);
    byId("pick-method").textContent = summary.labels[model.method];
    byId("pick-score").textContent = said(model.score) + (model.error === null ? "" : ` ± ${said(model.error)}`);
    byId("pick-cost").textContent = money(model.cost);
    const given = model.params.budget;
    const settings = given !== undefined ? [`fitted with budget ${money(given)}`] : Object.entries(model.params).filter(([, value]) => value !== null).map(([name, value]) =>
      `${name} ${typeof value === "number" ? Number(value.toPrecision(3)) : value}`);
    if (model.stage !== null) settings.push(`${model.stage} stages`);
    byId("pick-params").textContent = settings.join(", ") || "none";
    chart.ring.setAttribute("cx", chart.x(model.cost));
    chart.ring.setAttribute("cy", chart.y(model.score));
    const index = summary.methods.findIndex(method => method.name === model.method);
    const known = index < 0 ? [] : summary.methods[index].points.filter(p => p.low !== null && p.high !== null);
    const inside = score => Math.min(Math.max(score, low - pad), high + pad);
    const edge = (list, name) => list.map(p => `${chart.x(p.cost).toFixed(1)},${chart.y(inside(p[name])).toFixed(1)}`);
    const outline = [...edge(known, "low"), ...edge([...known].reverse(), "high")];
    chart.band.setAttribute("d", outline.length ? `M${outline.join("L")}Z` : "");
    chart.band.setAttribute("fill", colour(Math.max(index, 0)));
    showPurchases(model);
    byId("cases").replaceChildren(...model.cases.map(showCase));
  }

  function showPurchases(model) {
    const bars = order.filter(i => model.shares[i] > 0).slice(0, 40).map(i => {
      const feature = summary.features[i], row = element("div", undefined, "bar"), track = element("div"), fill = element("b");
      fill.style.width = `${100 * model.shares[i]}%`;
      track.append(fill);
      const share = 100 * model.shares[i];
      row.append(element("span", feature.name), track,
        element("small", `${share < 1 ? "under 1" : share.toFixed(0)} % at ${money(feature.alone)}`));
      return row;
    });
    byId("purchases").replaceChildren(...bars);
    if (!bars.length) byId("purchases").textContent = "Nothing: the answer is the most common one.";
  }

  function showCase(one) {
    const article = element("article"), head = element("h3", `Case ${one.row}: ${one.answer} `), table = element("table");
    head.append(element("small", `(truth ${one.truth}, ${money(one.spent)})`));
    const line = (cells, kind) => {
      const row = element("tr");
      row.append(...cells.map(text => element(kind, text)));
      return row;
    };
    const body = element("tbody"), top = element("thead");
    top.append(line(["bought", "value", "spent", "answer so far"], "th"));
    for (const step of one.steps) {
      const value = step.value === null ? "empty" : typeof step.value === "number" ? String(Number(step.value.toPrecision(4))) : step.value;
      const sure = step.confidence === null ? "" : ` (${(100 * step.confidence).toFixed(0)} %)`;
      body.append(line([step.feature, value, step.spent.toFixed(2), `${step.answer}${sure}`], "td"));
    }
    if (!one.steps.length) body.append(line(["nothing had to be bought", "", "", ""], "td"));
    if (one.left_out) body.append(line([`and ${one.left_out} more`, "", "", ""], "td"));
    table.append(top, body);
    article.append(head, table);
    return article;
  }

  const slider = byId("budget");
  slider.addEventListener("input", () => show(Number(slider.value)));
  addEventListener("resize", () => { draw(); show(stop); });
  draw();
  show(Number(slider.value));
})();
