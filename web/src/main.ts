import { load } from "./data";
import { el, section } from "./dom";
import { drawPlots, plotElement } from "./plot";
import { plotSpecs } from "./plots";
import { campaign, command, environment, errors, findings, steps, summary } from "./sections";

const data = load();
const names = data.runs.map((run) => run.name).join(", ");
document.title = `Plimsoll report: ${names}`;

const plots = plotSpecs(data).map(plotElement);
const parts = [
  summary(data),
  findings(data),
  campaign(data),
  section("plots", "Plots",
    el("p", { class: "quiet hint" },
      "Drag to zoom, double click to see all again; a click on a name in the legend switches its line. By keyboard: Tab to a plot, arrows, + and -, 0."),
    ...(plots.length > 0 ? plots : [el("p", {}, "There is nothing to plot: one level and no series.")])),
  steps(data),
  errors(data),
  environment(data),
  command(data),
].filter((part): part is HTMLElement => part !== undefined);

const nav = el("nav", { "aria-label": "Sections" },
  ...parts.map((part) => el("a", { href: `#${part.id}` }, part.querySelector("h2")!.textContent ?? "")));
document.getElementById("report")!.replaceChildren(el("h1", {}, `Plimsoll report: ${names}`), nav, ...parts);
drawPlots();
document.documentElement.dataset.ready = "true";
