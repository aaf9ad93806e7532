// The prediction of an exported model in plain JavaScript: f(x) = b + sum of c exp(-gamma (x - v)^2) over its kernels.
function predict(model, gamma, x) {
  return model.centres.reduce(
    (sum, v, i) => sum + model.coefficients[i] * Math.exp(-gamma * (x - v) ** 2), model.intercept);
}

function pruningSlider(box) {
  const { gamma, rows, models } = JSON.parse(box.querySelector("script").textContent);
  const svg = box.querySelector("svg"), slider = box.querySelector("input"), said = box.querySelector("output");
  const add = (name, attributes) => {
    const part = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
    return svg.appendChild(part);
  };
  const path = (f) => Array.from({ length: 241 }, (_, i) => -3 + i / 40)
    .map((x, i) => `${i ? "L" : "M"}${x} ${-f(x)}`).join("");
  for (const [x, y] of rows) add("circle", { cx: x, cy: -y, r: 0.025, class: "row" });
  const bumps = add("g", {}), curve = add("path", { class: "curve" });
  const draw = () => {
    const model = models[slider.value - 1];
    curve.setAttribute("d", path((x) => predict(model, gamma, x)));
    bumps.replaceChildren();
    for (const v of model.centres)
      bumps.appendChild(add("path", { class: "kernel", d: path((x) => -1.6 + 0.3 * Math.exp(-gamma * (x - v) ** 2)) }));
    said.textContent = `${slider.value}, error ${model.error.toFixed(3)}`;
  };
  slider.addEventListener("input", draw);
  draw();
}

if (typeof document !== "undefined")
  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll(".pruning-slider").forEach(pruningSlider));
if (typeof module !== "undefined") module.exports = { predict };
